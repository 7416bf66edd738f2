#include "platform/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace dtypecheck {

namespace {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 1;   // bytes
  bool valid = false;  // false: one byte that is no UTF-8
};

bool is_continuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Strict: overlong forms, surrogates and values above U+10FFFF are not UTF-8.
CodePoint decode(std::string_view text, size_t at) {
  const uint8_t first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + length > text.size()) return {first, 1, false};
  uint32_t value = first & (0xFF >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[at + i])) return {first, 1, false};
    value = value << 6 | (static_cast<uint8_t>(text[at + i]) & 0x3F);
  }
  const bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {first, 1, false};
  return {value, length, true};
}

struct Range {
  uint32_t first, last;
};

template <size_t n>
bool in_any(const Range (&ranges)[n], uint32_t value) {
  for (const Range& range : ranges) {
    if (value >= range.first && value <= range.last) return true;
  }
  return false;
}

// Invisible, or changes the order in which other characters are read: soft hyphen, Arabic letter
// mark, zero widths, bidirectional marks, line separators, fillers, BOM, tags, interlinear marks.
bool is_deceptive(uint32_t value) {
  static constexpr Range kRanges[] = {
      {0xAD, 0xAD},     {0x61C, 0x61C},   {0x115F, 0x1160}, {0x180E, 0x180E},
      {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x3164, 0x3164},
      {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF},
  };
  return in_any(kRanges, value);
}

size_t columns_of(uint32_t value) {
  static constexpr Range kCombining[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x1AB0, 0x1AFF},
                                         {0x1DC0, 0x1DFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                         {0xFE20, 0xFE2F}};
  static constexpr Range kWide[] = {{0x1100, 0x115F},  {0x2E80, 0xA4CF},   {0xAC00, 0xD7A3},
                                    {0xF900, 0xFAFF},  {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},
                                    {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF},
                                    {0x20000, 0x3FFFD}};
  if (in_any(kCombining, value)) return 0;
  return in_any(kWide, value) ? 2 : 1;
}

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
    const CodePoint c = decode(text, at);
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
    used += columns_of(decode(text, begin).value);
    if (used > columns) break;
    at = begin;
  }
  return at;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
    append_printable(out, text, at, c);
    at += c.length;
  }
  return out;
}

std::vector<std::string> printable_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(printable(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

size_t display_width(std::string_view text) {
  size_t columns = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = decode(text, at);
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

std::vector<std::string> wrap(std::string_view text, size_t columns) {
  std::vector<std::string> lines;
  while (display_width(text) > columns) {
    const size_t fits = std::max<size_t>(bytes_that_fit(text, columns), 1);
    const size_t space = text.rfind(' ', fits);
    const bool at_space = space != std::string_view::npos && space > 0;
    const size_t end = at_space ? space : fits;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(at_space ? end + 1 : end);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

}  // namespace dtypecheck
