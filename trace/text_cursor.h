// text_cursor.h: a place in one line of the text form of a trace, and the words that can stand
// there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "platform/text.h"

namespace dtypecheck {

// Quotes and escapes where a bare word would not read back as the same text: "" around it, \" \\ \n
// \xHH within. What a terminal would take as a command, and bytes that are no UTF-8, are escaped,
// so a dump is always printable.
std::string quoted(std::string_view text);
// The same of its beginning, for messages: a line of a trace may have megabytes and no space.
std::string excerpt(std::string_view text);
// Bare when `text` consists of letters, digits and the characters of `also`, quoted otherwise.
std::string bare_or_quoted(std::string_view text, std::string_view also);

class TextCursor {
 public:
  TextCursor(std::string_view line, const std::string& name, int line_number)
      : line_(line), name_(&name), line_number_(line_number) {}

  bool at_end() const { return position_ == line_.size(); }
  char peek() const { return at_end() ? '\0' : line_[position_]; }
  std::string_view rest() const { return line_.substr(position_); }
  bool at_word_end() const { return at_end() || is_space(peek()); }

  bool skip_spaces();                         // false when there were none
  void require_space(std::string_view what);  // a space or the end comes after it
  bool accept(std::string_view text);         // moves past `text` when it stands here
  void expect(std::string_view text);
  // The bare word or quoted text that stands here; a bare one has letters, digits and the
  // characters of `also`.
  std::string name(std::string_view also, std::string_view what);
  // The same, where a bare word goes on to the next space.
  std::string word(std::string_view what);
  std::string quoted_text();
  std::string_view next_word() const;  // up to the next space; stays here
  const std::string& source_name() const { return *name_; }

  template <typename Number>
  Number number(std::string_view what) {
    Number value{};
    const char* begin = line_.data() + position_;
    const auto [end, error] = read_number(begin, line_.data() + line_.size(), value);
    if (error != std::errc()) fail(what);
    position_ += static_cast<size_t>(end - begin);
    return value;
  }

  template <typename Number>
  Number next_number(std::string_view what) {  // behind spaces
    skip_spaces();
    return number<Number>(what);
  }

  // "case.trace:3: expected a dtype, got \"Hlaf\""
  [[noreturn]] void fail(std::string_view expected) const;
  [[noreturn]] void fail_with(std::string_view message) const;

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  char escape();

  std::string_view line_;
  const std::string* name_;
  int line_number_;
  size_t position_ = 0;
};

}  // namespace dtypecheck
