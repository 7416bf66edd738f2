// dtypecheck explain: from a message, a traceback or a whole log to what went wrong and what cures
// it.
#include "explain/explain.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"

namespace dtypecheck::cli {

using nlohmann::ordered_json;

static constexpr size_t kShownColumns = 400;  // of a message

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

static std::string place(const explain::Frame& frame) {
  return printable(fmt::format("{}:{} {}", frame.file, frame.line, frame.function));
}

// The user's own innermost frame, or the innermost one.
static const explain::Frame* own_frame(const std::vector<explain::Frame>& frames) {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (!is_library(*frame)) return &*frame;
  }
  return frames.empty() ? nullptr : &frames.back();
}

static std::string message_of(const explain::Explanation& error) {
  const size_t begin = std::min(error.message.find_first_not_of(' '), error.message.size());
  return cut(printable(std::string_view(error.message).substr(begin)), kShownColumns);
}

static ordered_json json_of(const explain::Explanation& error) {
  ordered_json out;
  out["category"] = explain::category_name(error.categories.front());
  out["also"] = ordered_json::array();
  for (size_t i = 1; i < error.categories.size() && i < 5; ++i) {
    out["also"].push_back(explain::category_name(error.categories[i]));
  }
  out["confidence"] = error.confidence;
  out["message"] = message_of(error);
  out["line"] = error.line;
  out["count"] = error.count;
  out["dtypes"] = error.dtypes;
  out["meaning"] = error.meaning;
  out["ops"] = error.ops;
  out["versions"] = error.versions;
  out["causes"] = ordered_json::array();
  out["cures"] = ordered_json::array();
  for (const explain::Cause* cause : error.causes) {
    out["causes"].push_back(cause->cause);
    out["cures"].push_back(cause->cure);
  }
  out["hides"] = explain::facts_of(error.categories.front()).hides;
  if (const explain::Frame* frame = own_frame(error.frames)) {
    out["location"] = {{"file", printable(frame->file)},
                       {"line", frame->line},
                       {"function", printable(frame->function)}};
  }
  return out;
}

static std::string json_of(const explain::Answer& answer) {
  ordered_json out;
  if (answer.errors.empty()) {
    out = {{"category", nullptr},
           {"also", ordered_json::array()},
           {"confidence", 0.0},
           {"ops", ordered_json::array()},
           {"causes", ordered_json::array()},
           {"cures", ordered_json::array()}};
    out["other_error"] = answer.other_error;
  } else {
    out = json_of(answer.errors.front());
  }
  if (!answer.torch_version.empty()) out["libtorch"] = answer.torch_version;
  if (answer.errors.size() > 1) {
    out["errors"] = ordered_json::array();
    for (const explain::Explanation& error : answer.errors) out["errors"].push_back(json_of(error));
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

static std::string list(std::string_view title, const std::vector<std::string>& items) {
  std::string text = items.empty() ? "" : fmt::format("{}\n", title);
  for (const std::string& item : items) {
    std::string lines = wrapped(item, 6);
    lines.replace(4, 1, "-");
    text += lines;
  }
  return text;
}

static std::string text_of(const explain::Explanation& error) {
  std::string text;
  if (!error.message.empty()) {
    text += fmt::format("{}\n", message_of(error));
    text += fmt::format("  line {}{}", error.line,
                        error.count > 1 ? fmt::format(", {} times", error.count) : "");
    if (const explain::Frame* frame = own_frame(error.frames))
      text += fmt::format(", raised below {}", place(*frame));
    text += "\n";
  }
  text += fmt::format("means\n{}", wrapped(error.meaning, 2));
  text += list("raised by", error.ops);
  if (!error.versions.empty()) text += fmt::format("versions\n{}", wrapped(error.versions, 2));
  const explain::CategoryFacts& facts = explain::facts_of(error.categories.front());
  text += fmt::format("most likely: {} [{}], {:.0f} %\n", facts.meaning, facts.name,
                      error.confidence * 100);
  int number = 0;
  for (const explain::Cause* cause : error.causes) {
    std::string lines = wrapped(cause->cause, 5);
    lines.replace(2, 2, fmt::format("{}.", ++number));
    text += lines + wrapped(fmt::format("cure: {}", cause->cure), 5);
  }
  if (error.categories.size() > 1) {
    text += "or\n";
    for (size_t i = 1; i < error.categories.size() && i < 3; ++i) {
      const explain::CategoryFacts& other = explain::facts_of(error.categories[i]);
      text += fmt::format("  {} [{}]\n", other.meaning, other.name);
    }
  }
  return text + list("only hides it", {facts.hides.begin(), facts.hides.end()});
}

static std::string text_of(const explain::Answer& answer) {
  if (answer.errors.empty()) {
    if (answer.other_error.empty()) return "no dtype error in it\n";
    return fmt::format("no dtype error in it; it seems to be about something else: {}\n",
                       answer.other_error);
  }
  std::string text;
  for (const explain::Explanation& error : answer.errors) {
    if (!text.empty()) text += "\n";
    text += text_of(error);
  }
  if (!answer.torch_version.empty())
    text += fmt::format("\nthe text names torch {}\n", answer.torch_version);
  return text;
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
  output.stream() << (command.json ? json_of(answer) : text_of(answer));
  output.finish();
  return kClean;
}

static std::function<int()> set_up(CLI::App& app) {
  auto command = std::make_shared<ExplainCommand>();
  app.add_option("TEXT", command->words,
                 "a message or traceback; - or nothing: a log on standard input")
      ->type_name("");
  app.add_flag("--json", command->json, "one JSON object");
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
