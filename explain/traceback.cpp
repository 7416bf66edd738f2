#include "explain/traceback.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/installed.h"
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
  const auto is_part = [](char c) {
    return is_of_name(c) || std::string_view(".<>").find(c) != std::string_view::npos;
  };
  const auto end = std::find_if_not(tail.begin(), tail.end(), is_part);
  const bool is_name = end == tail.end() || *end == '(';
  return is_name ? tail.substr(0, static_cast<size_t>(end - tail.begin())) : std::string_view();
}

// `File "train.py", line 12, in main`, with anything before it: launchers put the rank there.
static std::optional<TracebackFrame> quoted_frame_in(std::string_view line) {
  const size_t at = line.find("File \"");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(at + 6);
  const size_t quote = rest.find("\", line ");
  if (quote == std::string_view::npos) return std::nullopt;
  TracebackFrame frame{std::string(rest.substr(0, quote)), 0, "", ""};
  const std::string_view tail = rest.substr(quote + 8);
  number_at(tail, frame.line);
  const size_t in = tail.find(", in ");
  if (in != std::string_view::npos) frame.function = trimmed(tail.substr(in + 5));
  return frame;
}

// IPython's `Cell In[3], line 2, in main(a)` and `<ipython-input-3-1f2e> in main(a)`.
static std::optional<TracebackFrame> cell_frame_in(std::string_view line) {
  const bool is_cell = line.starts_with("Cell In");
  if (!is_cell && !line.starts_with("<ipython-input-")) return std::nullopt;
  const size_t end = std::min(line.find(is_cell ? ',' : ' '), line.size());
  TracebackFrame frame{std::string(line.substr(0, end)), 0, "<module>", ""};
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
static std::optional<TracebackFrame> bare_frame_in(std::string_view line) {
  for (std::string_view word : {"File ", "["}) {
    if (line.starts_with(word)) line.remove_prefix(word.size());
  }
  const size_t end = line.find(".py");
  if (end == std::string_view::npos || line.substr(0, end).find(' ') != std::string_view::npos)
    return std::nullopt;
  TracebackFrame frame{std::string(line.substr(0, end + 3)), 0, "", ""};
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

static std::optional<TracebackFrame> frame_in(std::string_view line) {
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

std::vector<TracebackFrame> frames_of(std::string_view text) {
  std::vector<TracebackFrame> frames;
  bool wants_code = false;
  while (!text.empty()) {
    const std::string_view line = without_prefix(next_line(text));
    if (line.find(kTraceback) != std::string_view::npos) frames.clear();
    if (std::optional<TracebackFrame> frame = frame_in(line)) {
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

bool TracebackLines::takes(std::string_view line) {
  const bool is_frame = frame_in(line).has_value() || line.find(kTraceback) != line.npos;
  const bool is_source = is_open_ && source_in(line).has_value();
  is_open_ = is_frame || is_source;
  return is_open_;
}

static size_t digits_at(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

// "2024-05-01 12:00:00,123", "12:00:00.5": how long it is; 0 where no time stands there.
static size_t time_at(std::string_view text) {
  const size_t size = std::min(text.find_first_not_of("0123456789-/:.,TZ+ "), text.size());
  const std::string_view stamp = text.substr(0, size);
  const bool has_clock = std::count(stamp.begin(), stamp.end(), ':') >= 2;
  return has_clock && digits_at(text) >= 1 ? size : 0;
}

// Of one thing that stands before a line; 0 where nothing does.
static size_t prefix_at(std::string_view line) {
  if (line.starts_with("> ")) return 2;
  if (const size_t time = time_at(line)) return time;
  for (std::string_view level : {"INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL", "WARN"}) {
    if (!line.starts_with(level)) continue;
    const size_t end = line.find_first_not_of(" :-|]", level.size());
    if (end != line.npos && end > level.size() && end < level.size() + 6) return end;
  }
  for (std::string_view mark : {"- ", "| "}) {
    const std::string_view rest = line.substr(std::min(mark.size(), line.size()));
    if (line.starts_with(mark) && (rest.starts_with("INFO") || rest.starts_with("ERROR") ||
                                   rest.starts_with("WARN") || rest.starts_with("DEBUG")))
      return mark.size();
  }
  const bool is_square = line.starts_with('[');
  if (!is_square && !line.starts_with('(')) return 0;
  const size_t end = line.substr(0, 60).find(is_square ? ']' : ')');
  if (end == line.npos) return 0;
  const std::string_view inside = line.substr(1, end - 1);
  const bool is_label = inside.starts_with("rank") || inside.starts_with("default") ||
                        inside.find("pid=") != inside.npos || time_at(inside) > 0 ||
                        prefix_at(std::string(inside) + " :") > 0;
  if (!is_label || inside.starts_with("default-")) return 0;
  size_t size = end + 1;
  if (line.substr(size).starts_with(':')) ++size;
  if (line.substr(size).starts_with(' ')) ++size;
  return size;
}

std::string_view without_prefix(std::string_view line) {
  for (size_t size = prefix_at(line); size > 0; size = prefix_at(line)) line.remove_prefix(size);
  return line;
}

bool is_library(const TracebackFrame& frame) {
  const auto is_part = [&](std::string_view part) {
    return frame.file.find(part) != frame.file.npos;
  };
  return std::ranges::any_of(kPackageFolders, is_part) || is_part("/lib/python") ||
         is_part("\\lib\\") || frame.file.starts_with("<");
}

}  // namespace dtypecheck::explain
