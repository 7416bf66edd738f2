#include "platform/nearest.h"

#include <algorithm>

namespace dtypecheck {

size_t edit_distance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      size_t& here = cost[i * width + j];
      if (i == 0 || j == 0) {
        here = i + j;
        continue;
      }
      const bool same = a[i - 1] == b[j - 1];
      here = std::min({cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1,
                       cost[(i - 1) * width + j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) here = std::min(here, cost[(i - 2) * width + j - 2] + 1);
    }
  }
  return cost.back();
}

std::string nearest(std::string_view word, const std::vector<std::string>& words) {
  constexpr size_t kLongestWord = 64;  // the table above is quadratic, and nobody mistypes more
  if (word.size() > kLongestWord) return "";
  std::string best;
  size_t best_distance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : words) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                       const std::string& otherwise) {
  const std::string meant = nearest(word, words);
  return meant.empty() ? "; " + otherwise : "; did you mean '" + meant + "'?";
}

}  // namespace dtypecheck
