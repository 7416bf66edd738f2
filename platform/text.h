// text.h: cutting and matching of text, for all readers of it.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtypecheck {

// Without spaces, tabs and line ends before and behind it.
std::string_view trimmed(std::string_view text);

inline std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Takes off `rest` what stands before the first separator, and the separator; all of it where there
// is none.
std::string_view next_piece(std::string_view& rest, char separator);

// The number that the text begins with, as std::from_chars has it. Not all that we are built with
// has that for double: libstdc++ since GCC 11.
std::from_chars_result read_number(const char* begin, const char* end, double& number);
template <typename Integer>
std::from_chars_result read_number(const char* begin, const char* end, Integer& number) {
  return std::from_chars(begin, end, number);
}

// The text as a number; nothing where it is none, or more than one.
template <typename Integer>
std::optional<Integer> whole_number(std::string_view text, int base = 10) {
  Integer number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

// A letter, a digit or "_": of a name in a program.
constexpr bool is_of_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Where the text has the word, and not as a part of a longer one: "kFloat" is none of "kFloat16".
std::vector<size_t> places_of_word(std::string_view text, std::string_view word);

// '*' stands for any text, '?' for one character. At most text times glob steps, whatever the glob.
bool matches_glob(std::string_view text, std::string_view glob);

// A hash of 64 bits (hash.h) in 16 digits.
std::string hash_text(uint64_t hash);

}  // namespace dtypecheck
