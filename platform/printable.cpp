#include "platform/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "platform/text.h"
#include "platform/utf8.h"

namespace dtypecheck {

namespace {

bool is_continuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

struct Range {
  uint32_t first, last;
};

void append_printable(std::string& out, std::string_view text, size_t at, const CodePoint& c) {
  if (!c.valid || (c.value < 0x20 && c.value != '\t' && c.value != '\n') || c.value == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", c.value);
  } else if (c.value == '\n') {
    out += "\\n";
  } else if (c.value == '\t') {
    out += ' ';
  } else if ((c.value >= 0x80 && c.value <= 0x9F) || is_deceptive(c.value)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", c.value);
  } else {
    out.append(text.substr(at, c.length));
  }
}

// The bytes at the beginning of `text` that fill at most `columns`.
size_t bytes_that_fit(std::string_view text, size_t columns) {
  size_t used = 0;
  size_t at = 0;
  while (at < text.size()) {
    const CodePoint c = code_point_at(text, at);
    used += columns_of(c.value);
    if (used > columns) break;
    at += c.length;
  }
  return at;
}

// Where the last bytes that fill at most `columns` begin.
size_t tail_that_fits(std::string_view text, size_t columns) {
  size_t used = 0;
  size_t at = text.size();
  while (at > 0) {
    size_t begin = at - 1;
    while (begin > 0 && is_continuation(text[begin])) --begin;
    used += columns_of(code_point_at(text, begin).value);
    if (used > columns) break;
    at = begin;
  }
  return at;
}

}  // namespace

// Soft hyphen, Arabic letter mark, zero widths, bidirectional marks, line separators, fillers, BOM,
// tags, interlinear marks.
bool is_deceptive(uint32_t code_point) {
  static constexpr Range kRanges[] = {
      {0xAD, 0xAD},     {0x61C, 0x61C},   {0x115F, 0x1160}, {0x180E, 0x180E},
      {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x3164, 0x3164},
      {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges), [&](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    append_printable(out, text, at, c);
    at += c.length;
  }
  return out;
}

std::vector<std::string> printable_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) lines.push_back(printable(next_piece(text, '\n')));
  return lines;
}

size_t display_width(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = code_point_at(text, at);
    columns += columns_of(c.value);
    at += c.length;
  }
  return columns;
}

std::string shorten(std::string_view text, size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns < 2) return columns == 0 ? "" : "…";
  const size_t head = (columns - 1) / 2;  // the end of a name tells more than its beginning
  std::string out(text.substr(0, bytes_that_fit(text, head)));
  out += "…";
  out += text.substr(tail_that_fits(text, columns - 1 - head));
  return out;
}

std::string shorten_path(std::string_view path, size_t columns, size_t name_columns) {
  if (display_width(path) <= columns) return std::string(path);
  const size_t last = path.rfind('/');
  const std::string_view name = last == path.npos ? path : path.substr(last);
  if (display_width(name) + 1 > columns) {
    return shorten(name.substr(last == path.npos ? 0 : 1), std::max(columns, name_columns));
  }
  size_t from = last;  // the first folder that still fits behind the ellipsis
  while (from > 0) {
    const size_t before = path.rfind('/', from - 1);
    if (before == path.npos || display_width(path.substr(before)) + 1 > columns) break;
    from = before;
  }
  return "…" + std::string(path.substr(from));
}

std::string cut(std::string_view text, size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  return std::string(text.substr(0, bytes_that_fit(text, columns - 1))) + "…";
}

std::string pad(std::string_view text, size_t columns) {
  std::string out(text);
  const size_t width = display_width(text);
  if (width < columns) out.append(columns - width, ' ');
  return out;
}

static bool is_name(std::string_view word) {
  return word.size() <= kLongestName && word.find_first_of("/._:") != word.npos;
}

std::vector<std::string> wrap(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  while (display_width(text) > columns) {
    const size_t fits = std::max<size_t>(bytes_that_fit(text, columns), 1);
    size_t space = text.rfind(' ', fits);
    if (space == text.npos || space == 0) {
      const size_t next = std::min(text.find(' ', fits), text.size());
      if (!is_name(text.substr(0, next))) {
        space = text.npos;
      } else if (next == text.size()) {
        break;
      } else {
        space = next;
      }
    }
    const bool at_space = space != std::string_view::npos;
    const size_t end = at_space ? space : fits;
    lines.emplace_back(text.substr(0, text.find_last_not_of(' ', end - 1) + 1));
    text.remove_prefix(at_space ? end + 1 : end);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace dtypecheck
