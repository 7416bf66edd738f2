#include "cures/printed_numbers.h"

#include <re2/re2.h>

#include <cmath>

#include "platform/text.h"

namespace dtypecheck::cures {

std::vector<double> numbers_in(std::string_view output) {
  std::vector<double> numbers;
  for (size_t at = 0; at < output.size();) {
    if (!is_of_name(output[at]) && output[at] != '-' && output[at] != '.') {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < output.size() && (is_of_name(output[end]) || output[end] == '.' ||
                                   output[end] == '-' || output[end] == '+'))
      ++end;
    std::string_view word = output.substr(at, end - at);
    while (word.ends_with('.')) word.remove_suffix(1);
    at = end;
    double number = 0;
    const auto read = read_number(word.data(), word.data() + word.size(), number);
    const bool is_all = read.ec == std::errc() && read.ptr == word.data() + word.size();
    const bool is_whole = word.find_first_of(".eE") == word.npos && std::isfinite(number);
    if (is_all && !is_whole) numbers.push_back(number);
  }
  return numbers;
}

std::vector<double> last_loss_in(std::string_view errors) {
  static const RE2 kLoss(
      R"((?i)loss(?:/\w+)?['"]?\s*[=:]\s*['"]?([-+]?(?:\d+(?:\.\d*)?(?:e[-+]?\d+)?|nan|inf)))");
  std::vector<double> last;
  re2::StringPiece rest(errors.data(), errors.size()), number;
  while (RE2::FindAndConsume(&rest, kLoss, &number)) {
    double loss = 0;
    const char* begin = number.data() + (number.starts_with("+") ? 1 : 0);
    read_number(begin, number.data() + number.size(), loss);
    last = {loss};
  }
  return last;
}

}  // namespace dtypecheck::cures
