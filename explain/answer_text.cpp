#include <fmt/format.h>

#include <algorithm>

#include "explain/answer.h"
#include "platform/printable.h"
#include "platform/terminal.h"

namespace dtypecheck::explain {

static constexpr size_t kShownColumns = 400;  // of a message
static constexpr size_t kMostOthers = 2;

const Frame* own_frame(const Explanation& error) {
  const std::vector<Frame>& frames = error.frames;
  const auto own = std::find_if(frames.rbegin(), frames.rend(),
                                [](const Frame& frame) { return !is_library(frame); });
  if (own != frames.rend()) return &*own;
  return frames.empty() ? nullptr : &frames.back();
}

std::string shown_message(const Explanation& error) {
  const size_t begin = std::min(error.message.find_first_not_of(' '), error.message.size());
  return cut(printable(std::string_view(error.message).substr(begin)), kShownColumns);
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

static std::string message_and_place(const Explanation& error) {
  if (error.message.empty()) return "";
  std::string text = fmt::format("{}\n  line {}", shown_message(error), error.line);
  if (error.count > 1) text += fmt::format(", {} times", error.count);
  if (const Frame* frame = own_frame(error)) {
    text += ", raised below " +
            printable(fmt::format("{}:{} {}", frame->file, frame->line, frame->function));
  }
  return text + "\n";
}

static std::string causes_and_cures(const Explanation& error) {
  std::string text;
  int number = 0;
  for (const Cause& cause : error.causes) {
    std::string lines = wrapped(cause.cause, 5);
    lines.replace(2, 2, fmt::format("{}.", ++number));
    text += lines + wrapped(fmt::format("cure: {}", cause.cure), 5);
  }
  return text;
}

static std::string category_line(Category category) {
  return fmt::format("{} [{}]", fault_of(category).meaning, category_name(category));
}

static std::string text_of(const Explanation& error) {
  std::string text = message_and_place(error);
  text += fmt::format("means\n{}", wrapped(error.meaning, 2));
  text += list("raised by", error.ops);
  if (!error.versions.empty()) text += fmt::format("versions\n{}", wrapped(error.versions, 2));
  text += fmt::format("most likely: {}, {:.0f} %\n", category_line(error.categories.front()),
                      error.confidence * 100);
  text += causes_and_cures(error);
  if (error.categories.size() > 1) text += "or\n";
  for (size_t i = 1; i < error.categories.size() && i <= kMostOthers; ++i)
    text += fmt::format("  {}\n", category_line(error.categories[i]));
  return text + list("only hides it", error.hides);
}

std::string to_text(const Answer& answer) {
  if (answer.errors.empty()) {
    if (answer.other_error.empty()) return "no dtype error in it\n";
    return fmt::format("no dtype error in it; it seems to be about something else: {}\n",
                       answer.other_error);
  }
  std::string text;
  for (const Explanation& error : answer.errors) {
    if (!text.empty()) text += "\n";
    text += text_of(error);
  }
  if (!answer.torch_version.empty())
    text += fmt::format("\nthe text names torch {}\n", answer.torch_version);
  return text;
}

}  // namespace dtypecheck::explain
