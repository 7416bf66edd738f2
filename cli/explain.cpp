// dtypecheck explain: from a message, a traceback or a whole log to what went wrong and what cures
// it.
#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "explain/answer.h"
#include "platform/error.h"
#include "platform/output.h"

namespace dtypecheck::cli {

struct ExplainCommand {
  std::vector<std::string> words;
  bool json = false;
};

static void feed_stdin(explain::LogScanner& scanner) {
  std::vector<char> buffer(1 << 20);
  for (;;) {
    const ssize_t got = read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw InputError(
          fmt::format("standard input: {}; give the text as an argument", strerror(errno)));
    if (got == 0) return;
    scanner.feed({buffer.data(), static_cast<size_t>(got)});
  }
}

static std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

static int run(const ExplainCommand& command) {
  explain::LogScanner scanner;
  const std::string text = joined(command.words);
  if (text.empty() || text == "-") {
    feed_stdin(scanner);
  } else {
    scanner.feed(text);
  }
  scanner.finish();
  if (scanner.size_bytes() == 0) {
    throw InputError(
        "nothing to explain: the text is empty; give a message, or a log on standard input");
  }
  const explain::Answer answer = explain::explain(scanner);
  Output output = open_output("");
  output.stream() << (command.json ? explain::to_json(answer) : explain::to_text(answer));
  output.finish();
  return kClean;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<ExplainCommand>();
  options
      .add("TEXT", command->words, "a message or traceback; - or nothing: a log on standard input")
      .type("");
  options.add_flag("--json", command->json, "one JSON object");
  return [command] { return run(*command); };
}

extern const Command explain_command = {
    .name = "explain",
    .summary = "explain a dtype error: a message, a traceback or a whole log",
    .arguments = "[--json] [TEXT | -]",
    .examples =
        "  dtypecheck explain \"expected scalar type Float but found Half\"\n"
        "  dtypecheck explain - < train.log\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
