#include "compare/no_effect.h"

#include <algorithm>

#include "compare/distance.h"
#include "compare/given_inputs.h"
#include "ops/ops.h"

namespace dtypecheck::compare {

// It makes nothing of the numbers, as the gradient of a loss by itself is 1.
static bool is_of_shape(const std::string& op) {
  return ops::parse_op_name(op).base.ends_with("_like");
}

static bool is_other_gradient(const Side& side_a, const Side& side_b, const Alignment& alignment,
                              size_t call, uint32_t index) {
  const std::vector<uint32_t>& a = side_a.process.calls[call].operands;
  const auto at = std::find(a.begin(), a.end(), index) - a.begin();
  if (index == 0 || !side_a.digest(index).is_gradient || alignment.to_b[call] == kAlone)
    return false;
  const std::vector<uint32_t>& b = side_b.process.calls[alignment.to_b[call]].operands;
  if (static_cast<size_t>(at) >= std::min(a.size(), b.size()) || b[at] == 0) return false;
  return distance(side_a.digest(index), side_b.digest(b[at])).value_or(0) > kOtherData;
}

static bool agrees(const Side& side_a, const Side& side_b, const Alignment& alignment,
                   size_t call) {
  if (alignment.to_b[call] == kAlone) return false;
  if (is_of_shape(side_a.process.calls[call].op)) return false;
  const std::vector<uint32_t>& a = side_a.process.calls[call].results;
  const std::vector<uint32_t>& b = side_b.process.calls[alignment.to_b[call]].results;
  if (a.size() != b.size()) return false;
  for (size_t k = 0; k < a.size(); ++k) {
    if (a[k] == 0 || b[k] == 0) return false;
    const auto apart = distance(side_a.digest(a[k]), side_b.digest(b[k]));
    if (!apart || *apart > 4 * unit_roundoff(side_a.digest(a[k]).dtype)) return false;
  }
  return true;
}

NoEffect find_no_effect(const Side& a, const Side& b, const Alignment& alignment) {
  const std::vector<DigestedCall>& calls = a.process.calls;
  NoEffect found{std::vector<bool>(calls.size()), {}};
  auto& [makes_none, uses] = found;
  for (size_t call = calls.size(); call-- > 0;) {
    const bool is_used = std::all_of(
        calls[call].results.begin(), calls[call].results.end(),
        [&](uint32_t result) { return result != 0 && uses.count(result) != 0 && uses[result]; });
    makes_none[call] = agrees(a, b, alignment, call) || (!calls[call].results.empty() && is_used);
    for (const auto* list : {&calls[call].operands, &calls[call].results}) {
      if (list == &calls[call].operands && is_of_shape(calls[call].op)) continue;
      for (uint32_t index : *list) {
        const bool is_none = makes_none[call] && !is_other_gradient(a, b, alignment, call, index);
        if (index != 0 && list == &calls[call].results) index = a.digest(index).base;
        while (index != 0) {
          bool& use = uses.try_emplace(index, true).first->second;
          use = use && is_none;
          index = a.made_by.count(index) ? 0 : a.digest(index).base;
        }
      }
    }
  }
  return found;
}

}  // namespace dtypecheck::compare
