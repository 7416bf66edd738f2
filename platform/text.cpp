#include "platform/text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace dtypecheck {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string_view next_piece(std::string_view& rest, char separator) {
  const std::string_view piece = rest.substr(0, rest.find(separator));
  rest.remove_prefix(std::min(piece.size() + 1, rest.size()));
  return piece;
}

// strtod takes a zero at the end, blanks, a plus and 0x too. Nobody here sets a locale.
std::from_chars_result read_number(const char* begin, const char* end, double& number) {
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'w') || (c >= 'A' && c <= 'W') || c == '.' ||
           c == '-' || c == '+';
  };
  if (begin != end && *begin == '+') return {begin, std::errc::invalid_argument};
  const std::string text(begin, std::find_if_not(begin, end, is_part));
  char* last = nullptr;
  errno = 0;
  const double read = std::strtod(text.c_str(), &last);
  const char* const after = begin + (last - text.c_str());
  if (after == begin) return {begin, std::errc::invalid_argument};
  // ERANGE is said of the smallest numbers too, which are there.
  if (errno == ERANGE && (read == 0 || std::isinf(read)))
    return {after, std::errc::result_out_of_range};
  number = read;
  return {after, std::errc()};
}

std::vector<size_t> places_of_word(std::string_view text, std::string_view word) {
  std::vector<size_t> found;
  if (word.empty()) return found;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool is_longer = (at > 0 && is_of_name(text[at - 1]) && is_of_name(word.front())) ||
                           (end < text.size() && is_of_name(text[end]) && is_of_name(word.back()));
    if (!is_longer) found.push_back(at);
  }
  return found;
}

std::string hash_text(uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

bool matches_glob(std::string_view text, std::string_view glob) {
  size_t t = 0, g = 0, star = glob.npos, star_text = 0;
  while (t < text.size()) {
    if (g < glob.size() && (glob[g] == '?' || (glob[g] == text[t] && glob[g] != '*'))) {
      ++t, ++g;
    } else if (g < glob.size() && glob[g] == '*') {
      star = g++;
      star_text = t;
    } else if (star != glob.npos) {  // the last star takes one character more
      g = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', g) == glob.npos;
}

}  // namespace dtypecheck
