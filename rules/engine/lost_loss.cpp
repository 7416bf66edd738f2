#include "rules/engine/lost_loss.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace dtypecheck::rules {

static constexpr size_t kMostReached = 4096;

const OpCall* origin_of_lost_loss(const RunIndex& index, const OpCall& backward) {
  const OpCall* first = nullptr;
  std::vector<const OpCall*> reached = {&backward};
  std::set<OpCallId> seen = {backward.id};
  for (size_t next = 0; next < reached.size() && next < kMostReached; ++next) {
    const OpCall& at = *reached[next];
    const bool is_lost = at.inexact && !std::isfinite(at.inexact->to);
    if (is_lost && (first == nullptr || at.id < first->id)) first = &at;
    for (const Operand& operand : at.operands) {
      const OpCall* made = index.run().call(operand.origin);
      if (made != nullptr && seen.insert(made->id).second) reached.push_back(made);
    }
  }
  return first;
}

const OpCall* loss_lost_by(const RunIndex& index, const OpCall& origin) {
  for (const OpCall& call : index.judged_calls()) {
    const bool is_lost = call.process == origin.process &&
                         std::any_of(call.non_finite.begin(), call.non_finite.end(),
                                     [](const NonFinite& found) { return found.is_loss; });
    if (is_lost && origin_of_lost_loss(index, call) == &origin) return &call;
  }
  return nullptr;
}

}  // namespace dtypecheck::rules
