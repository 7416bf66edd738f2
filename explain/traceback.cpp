#include "explain/traceback.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "platform/text.h"

namespace dtypecheck::explain {

static constexpr size_t kMaxFrames = 64;

static std::string_view next_line(std::string_view& text) {
  const size_t end = std::min(text.find_first_of("\n\r"), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

static constexpr std::string_view kBar = "│";
static constexpr std::string_view kRichMark = "❱";

// What stands in a box that rich draws, without the box and the guides of its indentation.
static std::string_view unboxed(std::string_view line) {
  line = trimmed(line);
  while (line.starts_with(kBar)) line = trimmed(line.substr(kBar.size()));
  while (line.ends_with(kBar)) line = trimmed(line.substr(0, line.size() - kBar.size()));
  return line;
}

static size_t number_at(std::string_view text, int& number) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return static_cast<size_t>(read.ptr - text.data());
}

// "in main(a, b)" and ", in main", ": in main": the name; empty where another text stands there.
static std::string_view function_in(std::string_view tail) {
  const size_t in = tail.find("in ");
  if (in == std::string_view::npos || tail.find_first_not_of(" ,:") != in) return "";
  tail = trimmed(tail.substr(in + 3));
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.<>").find(c) != std::string_view::npos;
  };
  const auto end = std::find_if_not(tail.begin(), tail.end(), is_of_name);
  const bool is_name = end == tail.end() || *end == '(';
  return is_name ? tail.substr(0, static_cast<size_t>(end - tail.begin())) : std::string_view();
}

// `File "train.py", line 12, in main`, with anything before it: launchers put the rank there.
static std::optional<Frame> quoted_frame_in(std::string_view line) {
  const size_t at = line.find("File \"");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 6);
  const size_t quote = rest.find("\", line ");
  if (quote == std::string_view::npos) return std::nullopt;
  Frame frame{std::string(rest.substr(0, quote)), 0, "", ""};
  const std::string_view tail = rest.substr(quote + 8);
  number_at(tail, frame.line);
  const size_t in = tail.find(", in ");
  if (in != std::string_view::npos) frame.function = trimmed(tail.substr(in + 5));
  return frame;
}

// IPython's `Cell In[3], line 2, in main(a)` and `<ipython-input-3-1f2e> in main(a)`.
static std::optional<Frame> cell_frame_in(std::string_view line) {
  const bool is_cell = line.starts_with("Cell In");
  if (!is_cell && !line.starts_with("<ipython-input-")) return std::nullopt;
  const size_t end = std::min(line.find(is_cell ? ',' : ' '), line.size());
  Frame frame{std::string(line.substr(0, end)), 0, "<module>", ""};
  std::string_view tail = line.substr(end);
  if (is_cell) {
    if (!tail.starts_with(", line ")) return std::nullopt;
    tail.remove_prefix(7);
    tail.remove_prefix(number_at(tail, frame.line));
  }
  if (const std::string_view name = function_in(tail); !name.empty()) frame.function = name;
  return frame;
}

// IPython's `File ~/x.py:12, in main(a)`, which editors make a link, `~/x.py in main(a)` of its
// older versions, rich's `x.py:12 in main`, pytest's `x.py:12: in main`.
static std::optional<Frame> bare_frame_in(std::string_view line) {
  for (std::string_view word : {"File ", "["}) {
    if (line.starts_with(word)) line.remove_prefix(word.size());
  }
  const size_t end = line.find(".py");
  if (end == std::string_view::npos || line.substr(0, end).find(' ') != std::string_view::npos)
    return std::nullopt;
  Frame frame{std::string(line.substr(0, end + 3)), 0, "", ""};
  std::string_view tail = line.substr(end + 3);
  const bool has_line = tail.starts_with(':');
  if (has_line) {
    tail.remove_prefix(1);
    tail.remove_prefix(number_at(tail, frame.line));
    if (tail.starts_with("](")) tail.remove_prefix(std::min(tail.find("), in ") + 1, tail.size()));
  }
  frame.function = function_in(tail);
  const bool is_call = tail.find('(') != std::string_view::npos || frame.function == "<module>";
  if (frame.function.empty() || (!has_line && !is_call)) return std::nullopt;
  return frame;
}

static std::optional<Frame> frame_in(std::string_view line) {
  if (auto frame = quoted_frame_in(line)) return frame;
  const std::string_view inside = unboxed(line);
  if (auto frame = cell_frame_in(inside)) return frame;
  return bare_frame_in(inside);
}

namespace {

// A line of source that is printed below a frame.
struct SourceLine {
  std::string_view code;
  bool is_marked = false;  // it is the one that the frame has reached
};

}  // namespace

// "--> 185     loss.backward()" and "❱ 190 │   return f(x)", and the lines around it without the
// mark; Python and pytest print one line, without its number.
static std::optional<SourceLine> source_in(std::string_view line) {
  const size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (first >= 4 && first < line.size() && (line[first] < '0' || line[first] > '9') &&
      line.find(kBar) == std::string_view::npos)
    return SourceLine{trimmed(line), true};
  std::string_view rest = unboxed(line);
  if (rest.empty() && first < line.size()) return SourceLine{};
  const size_t mark = std::min(rest.find_first_not_of("->"), rest.size());
  SourceLine source{"", mark > 1};
  rest = trimmed(rest.substr(mark));
  if (rest.starts_with(kRichMark)) {
    source.is_marked = true;
    rest = trimmed(rest.substr(kRichMark.size()));
  }
  int number = 0;
  const size_t digits = number_at(rest, number);
  if (digits == 0 || (digits < rest.size() && rest[digits] != ' ')) return std::nullopt;
  source.code = unboxed(rest.substr(digits));
  return source;
}

std::vector<Frame> frames_of(std::string_view text) {
  std::vector<Frame> frames;
  bool wants_code = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.find(kTraceback) != std::string_view::npos) frames.clear();
    if (std::optional<Frame> frame = frame_in(line)) {
      if (frames.size() == kMaxFrames) frames.erase(frames.begin());
      frames.push_back(std::move(*frame));
      wants_code = true;
    } else if (wants_code) {
      const auto source = source_in(line);
      if (source && source->is_marked) frames.back().code = source->code;
      wants_code = source && !source->is_marked;
    }
  }
  return frames;
}

std::string without_frames(std::string_view text) {
  std::string out;
  bool after_frame = false;
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    const bool is_frame = frame_in(line).has_value();
    const bool is_source = after_frame && source_in(line).has_value();
    if (!is_frame && !is_source) out.append(line).append("\n");
    after_frame = is_frame || is_source;
  }
  return out;
}

bool is_library(const Frame& frame) {
  for (std::string_view part : {"site-packages", "dist-packages", "/lib/python", "\\lib\\"}) {
    if (frame.file.find(part) != std::string::npos) return true;
  }
  return frame.file.starts_with("<");
}

}  // namespace dtypecheck::explain
