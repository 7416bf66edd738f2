#include "trace/text_cursor.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/error.h"
#include "platform/printable.h"
#include "platform/text.h"
#include "platform/utf8.h"

namespace dtypecheck {
namespace {

bool is_bare(char c, std::string_view also) {
  return is_of_name(c) || (c != '\0' && also.find(c) != std::string_view::npos);
}

// Bytes of the UTF-8 character that starts here and may be shown as it is; 0 when the first byte is
// to be escaped.
size_t shown_bytes(std::string_view text, size_t position) {
  const CodePoint c = code_point_at(text, position);
  const bool controls = c.value < 0x20 || (c.value >= 0x7f && c.value < 0xa0);
  return c.valid && !controls && !is_deceptive(c.value) ? c.length : 0;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t shown = shown_bytes(text, i);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (shown == 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(i, shown);
    }
    i += std::max<size_t>(shown, 1);
  }
  return out + '"';
}

std::string excerpt(std::string_view text) {
  constexpr size_t kMaxBytes = 60;
  if (text.size() <= kMaxBytes) return quoted(text);
  size_t end = kMaxBytes;
  while (end > kMaxBytes - 3 && (text[end] & 0xc0) == 0x80) --end;  // within a character
  return fmt::format("{}… ({} bytes)", quoted(text.substr(0, end)), text.size());
}

std::string bare_or_quoted(std::string_view text, std::string_view also) {
  const bool bare = !text.empty() &&
                    std::all_of(text.begin(), text.end(), [&](char c) { return is_bare(c, also); });
  return bare ? std::string(text) : quoted(text);
}

bool TextCursor::skip_spaces() {
  const size_t before = position_;
  while (!at_end() && is_space(peek())) ++position_;
  return position_ != before;
}

bool TextCursor::accept(std::string_view text) {
  if (!rest().starts_with(text)) return false;
  position_ += text.size();
  return true;
}

void TextCursor::expect(std::string_view text) {
  if (!accept(text)) fail(fmt::format("\"{}\"", text));
}

std::string TextCursor::name(std::string_view also, std::string_view what) {
  if (peek() == '"') return quoted_text();
  const size_t begin = position_;
  while (!at_end() && is_bare(peek(), also)) ++position_;
  if (position_ == begin) fail(what);
  return std::string(line_.substr(begin, position_ - begin));
}

std::string TextCursor::word(std::string_view what) {
  if (peek() == '"') return quoted_text();
  const std::string_view text = next_word();
  if (text.empty()) fail(what);
  position_ += text.size();
  return std::string(text);
}

std::string TextCursor::quoted_text() {
  if (!accept("\"")) fail("text in quotes");
  std::string text;
  while (!accept("\"")) {
    if (at_end()) fail("a closing quote");
    const char c = line_[position_++];
    text += c == '\\' ? escape() : c;
  }
  return text;
}

char TextCursor::escape() {
  if (accept("n")) return '\n';
  if (accept("\"")) return '"';
  if (accept("\\")) return '\\';
  if (!accept("x")) fail("\\\", \\\\, \\n or \\xHH after the \\");
  const std::string_view digits = rest().substr(0, 2);
  unsigned char value = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), value, 16);
  if (error != std::errc() || end != digits.begin() + 2) fail("two hex digits after \\x");
  position_ += 2;
  return static_cast<char>(value);
}

void TextCursor::require_space(std::string_view what) {
  if (!at_word_end()) fail(fmt::format("a space or the end after {}", what));
  skip_spaces();
}

std::string_view TextCursor::next_word() const {
  size_t end = position_;
  while (end < line_.size() && !is_space(line_[end])) ++end;
  return line_.substr(position_, end - position_);
}

void TextCursor::fail(std::string_view expected) const {
  const std::string_view got = next_word();
  fail_with(fmt::format("expected {}, got {}", expected,
                        at_end() ? "the end of the line" : excerpt(got.empty() ? " " : got)));
}

void TextCursor::fail_with(std::string_view message) const {
  throw InputError(fmt::format("{}:{}: {}", *name_, line_number_, message));
}

}  // namespace dtypecheck
