#include <fmt/format.h>

#include <algorithm>

#include "explain/answer.h"
#include "platform/printable.h"
#include "platform/terminal.h"

namespace dtypecheck::explain {

static constexpr size_t kShownColumns = 400;  // of a message
static constexpr size_t kMostOthers = 2;
static constexpr double kSure = 0.6;   // below it, and
static constexpr double kOpen = 0.15;  // within it the text does not tell the first from the second

const TracebackFrame* own_frame(const Explanation& error) {
  const std::vector<TracebackFrame>& frames = error.frames;
  const auto own = std::find_if(frames.rbegin(), frames.rend(),
                                [](const TracebackFrame& frame) { return !is_library(frame); });
  if (own != frames.rend()) return &*own;
  return frames.empty() ? nullptr : &frames.back();
}

std::string question(const Explanation& error) {
  const bool is_open = error.confidence < kSure || error.confidence - error.second < kOpen;
  if (error.categories.size() < 2 || !is_open) return "";
  const Fault& second = fault_of(error.categories[1]);
  std::string place;
  if (const TracebackFrame* frame = own_frame(error); frame && second.asks.starts_with("print"))
    place = fmt::format(" at {}:{}", printable(frame->file), frame->line);
  return fmt::format("{}{}; this applies if {}", second.asks, place, second.shown);
}

std::string shown_message(const Explanation& error) {
  const size_t begin = std::min(error.message.find_first_not_of(' '), error.message.size());
  return cut(printable(std::string_view(error.message).substr(begin)), kShownColumns);
}

namespace {

// Ten lines say what most people want to know; --all says the rest.
class Writer {
 public:
  explicit Writer(const TextOptions& options) : all_(options.all), width_(options.width) {}

  void add(const Explanation& error, const std::vector<Explanation>& earlier) {
    if (!text_.empty()) text_ += "\n";
    message_and_place(error);
    say(fmt::format("means: {}", error.meaning), 0);
    if (all_) list("raised by", error.ops);
    if (all_ && !error.versions.empty()) say(fmt::format("versions: {}", error.versions), 0);
    if (!all_ && error.is_missing_kernel) kernel(error);
    say(fmt::format("most likely, {:.0f} %: {}", error.confidence * 100,
                    category_line(error.categories.front())),
        0);
    if (const Explanation* same = told_already(error, earlier)) {
      say(fmt::format("causes and cures as of line {}", same->line), 2);
      return;
    }
    causes(error);
    others(error);
    if (all_) list("only hides the error", error.hides);
  }

  void end(const Answer& answer) {
    if (all_ && !answer.torch_version.empty())
      text_ += fmt::format("\nthe text names torch {}\n", answer.torch_version);
    const std::string command = answer.command.empty() ? "COMMAND" : answer.command;
    text_ += fmt::format("{}to find the line: dtypecheck trace -- {}\n",
                         all_ ? "" : "--all says more; ", printable(command));
  }

  std::string take() { return std::move(text_); }

 private:
  // What goes on in further lines is indented by two more.
  void say(std::string_view what, size_t indent) {
    std::string lines = wrapped(what, indent + 2, width_);
    text_ += lines.erase(0, 2);
  }

  void message_and_place(const Explanation& error) {
    if (error.message.empty()) return;
    text_ += shown_message(error) + "\n";
    std::string place = fmt::format("line {}", error.line);
    if (error.count > 1) place += fmt::format(", {} times", error.count);
    if (const TracebackFrame* frame = own_frame(error)) {
      place += fmt::format(", raised below {}:{} {}", printable(frame->file), frame->line,
                           printable(frame->function));
    }
    std::string_view before = ": ";
    for (const OperandDtype& operand : error.operands) {
      place += fmt::format("{}{} is {}", before, operand.operand, operand.dtype);
      before = ", ";
    }
    say(place, 2);
  }

  // Which op it is, and since when it takes the dtype: what is asked first of a missing kernel.
  void kernel(const Explanation& error) {
    std::string text = error.ops.back();
    if (!error.versions.empty()) text += "; " + error.versions;
    say(text, 2);
  }

  void causes(const Explanation& error) {
    int number = 0;
    for (const Cause& cause : error.causes) {
      say(all_ ? fmt::format("{}. {}", ++number, cause.cause) : cause.cause, 2);
      say(fmt::format("cure: {}", cause.cure), all_ ? 5 : 2);
      if (!all_) return;
    }
  }

  void others(const Explanation& error) {
    const size_t count = std::min(error.categories.size(), kMostOthers + 1);
    if (all_) return all_others(error, count);
    if (const std::string asked = question(error); !asked.empty())
      return say(fmt::format("to tell it from {}: {}", category_name(error.categories[1]), asked),
                 0);
    std::string names;
    for (size_t i = 1; i < count; ++i)
      names += (names.empty() ? "" : ", ") + std::string(category_name(error.categories[i]));
    if (!names.empty()) say(fmt::format("or: {}", names), 0);
  }

  void all_others(const Explanation& error, size_t count) {
    say(fmt::format("this applies if {}", fault_of(error.categories.front()).shown), 2);
    for (size_t i = 1; i < count; ++i) {
      say(fmt::format("or: {}", category_line(error.categories[i])), 0);
      say(fmt::format("this applies if {}", fault_of(error.categories[i]).shown), 2);
    }
  }

  void list(std::string_view title, const std::vector<std::string>& items) {
    if (!items.empty()) text_ += fmt::format("{}\n", title);
    for (const std::string& item : items) say("- " + item, 4);
  }

  static std::string category_line(Category category) {
    return fmt::format("{} [{}]", fault_of(category).meaning, category_name(category));
  }

  // An earlier error of the same fault whose causes are the same.
  static const Explanation* told_already(const Explanation& error,
                                         const std::vector<Explanation>& earlier) {
    for (const Explanation& other : earlier) {
      if (&other == &error) return nullptr;
      const bool is_same =
          other.categories.front() == error.categories.front() &&
          std::equal(other.causes.begin(), other.causes.end(), error.causes.begin(),
                     error.causes.end(), [](const Cause& a, const Cause& b) {
                       return a.cure == b.cure;
                     });  // a.cause has its dtypes
      if (is_same && !other.message.empty()) return &other;
    }
    return nullptr;
  }

  bool all_;
  size_t width_;
  std::string text_;
};

}  // namespace

std::string to_text(const Answer& answer, const TextOptions& options) {
  if (answer.errors.empty()) {
    if (answer.other_error.empty()) return "no dtype error in it\n";
    return fmt::format("no dtype error in it; it seems to be about something else: {}\n",
                       answer.other_error);
  }
  Writer writer(options);
  for (const Explanation& error : answer.errors) writer.add(error, answer.errors);
  writer.end(answer);
  return writer.take();
}

}  // namespace dtypecheck::explain
