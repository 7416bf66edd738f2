// align.h: which op call of one run is which of the other. By step, phase and module, or by the
// function that made it outside of modules; within one of these by the longest common subsequence
// of op names and shapes; of numbers of elements, where ranks were put together; of op names, for
// two ranks of one run. What stands alone is left alone, and not guessed.
#pragma once

#include <utility>
#include <vector>

#include "trace/digests.h"

namespace dtypecheck::compare {

struct Alignment {
  std::vector<size_t> to_b;  // of each call of the first run, its place in the other; or kAlone
  std::vector<size_t> to_a;
};
inline constexpr size_t kAlone = static_cast<size_t>(-1);

Alignment align(const DigestedProcess& a, const DigestedProcess& b, bool of_one_run = false);

}  // namespace dtypecheck::compare
