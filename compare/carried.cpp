#include "compare/carried.h"

#include <algorithm>

#include "compare/expected.h"

namespace dtypecheck::compare {

// The most that anything was apart which the operands were computed from. A distance is a sample,
// and an error that lies in a few elements may not be in it; it comes out where they are summed.
// What a weight is apart moves all elements that come of it, and shows in the first results.
double Carried::into(size_t call, bool of_weights) const {
  double most = 0;
  const DigestedCall& at = side_.process.calls[call];
  for (size_t place = 0; place < at.operands.size(); ++place) {
    uint32_t index = at.operands[place];
    if (index == 0) continue;
    const Digest& operand = side_.digest(index);
    if (!of_weights && is_weight(operand)) continue;
    double apart = weight_apart_before(at.step, operand.parameter);
    while (side_.made_by.count(index) == 0 && side_.digest(index).base != 0)
      index = side_.digest(index).base;
    apart = std::max(apart, by_digest_[index]);
    const bool has_result = !at.results.empty() && at.results[0] != 0;
    most = std::max(most, apart * (has_result ? share_in_result(at.op, place, operand,
                                                                side_.digest(at.results[0]))
                                              : 1));
  }
  return most;
}

// What an optimizer's step did to it. One that divides by a gradient's size makes a step of a
// rounding, where the gradient is next to nothing. What is added, as a bias is, counts by its
// size: the gradient of a key's bias is all rounding, and so is the bias.
double Carried::weight_apart_before(uint32_t step, const std::string& parameter) const {
  constexpr double kDivided = 2;
  const auto found = weights_apart_.find(parameter);
  if (found == weights_apart_.end()) return 0;
  double most = 0;
  for (const auto& [after, apart] : found->second)
    if (after < step) most = std::max(most, apart);
  return kDivided * most;
}

void Carried::out_of(size_t call, double most) {
  most = std::max(most, into(call, false));
  for (const uint32_t index : side_.process.calls[call].results)
    if (index != 0) by_digest_[index] = std::max(by_digest_[index], most);
}

}  // namespace dtypecheck::compare
