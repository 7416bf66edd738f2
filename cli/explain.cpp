// dtypecheck explain: from a message, a traceback or a whole log to what went wrong and what cures
// it.
#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "explain/answer.h"
#include "explain/data_file.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/terminal.h"

namespace dtypecheck::cli {

struct ExplainCommand {
  std::vector<std::string> words;
  std::string tables;
  bool json = false, all = false;
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
  if (!command.tables.empty()) explain::take_tables_from(command.tables);
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
  constexpr int kNoTerminal = 100;
  const auto width = static_cast<size_t>(std::max(columns_of(STDOUT_FILENO, kNoTerminal), 40));
  Output output = open_output("");
  output.stream() << (command.json ? explain::to_json(answer)
                                   : explain::to_text(answer, {command.all, width}));
  output.finish();
  return kClean;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<ExplainCommand>();
  options
      .add("TEXT", command->words, "a message or traceback; - or nothing: a log on standard input")
      .type("");
  options.add_flag("--json", command->json, "one JSON object");
  options.add_flag("--all", command->all, "all causes, ops and versions, not the likeliest alone");
  options.add("--tables", command->tables, "what explain knows, from a changed explain/data/")
      .type("FOLDER");
  return [command] { return run(*command); };
}

extern const Command explain_command = {
    .name = "explain",
    .summary = "explain a dtype error: a message, a traceback or a whole log",
    .arguments = "[--json] [--all] [TEXT | -]",
    .examples =
        "  dtypecheck explain \"expected scalar type Float but found Half\"\n"
        "  dtypecheck explain - < train.log\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
