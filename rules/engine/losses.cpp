#include "rules/engine/losses.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/dtype_range.h"
#include "ops/ops.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {

static constexpr size_t kMostReached = 4096;

static bool is_lost(const OpCall& call) { return call.inexact && !std::isfinite(call.inexact->to); }

bool squares_vanish(const OpCall& call) {
  return call.site.phase == Phase::kOptimizer && call.inexact && call.inexact->to == 0 &&
         call.result_dtype() == Dtype::kHalf;
}

static const OpCall* divisor_lost_before(const RunIndex& index, const OpCall& backward) {
  const auto loss = std::ranges::find_if(backward.non_finite,
                                         [](const NonFinite& found) { return found.is_loss; });
  if (loss == backward.non_finite.end()) return nullptr;
  for (const OpCall& call : index.judged_calls())
    if (call.process == backward.process && squares_vanish(call) && call.first_step < loss->step)
      return &call;
  return nullptr;
}

// Equal calls of a line are one, which has the operands of the first: what led on from one of the
// others, as of log_prob()'s three subtractions, is known by the line alone.
static const OpCall* lost_beside(const RunIndex& index, const OpCall& backward,
                                 const std::vector<const OpCall*>& reached) {
  for (const OpCall& call : index.judged_calls()) {
    if (!is_lost(call) || call.process != backward.process || call.id > backward.id) continue;
    const auto is_beside = [&](const OpCall* one) {
      return one->site.line.known() && one->site.line == call.site.line && one->id > call.id;
    };
    if (std::ranges::any_of(reached, is_beside)) return &call;
  }
  return nullptr;
}

const OpCall* origin_of_lost_loss(const RunIndex& index, const OpCall& backward) {
  const OpCall* first = nullptr;
  std::vector<const OpCall*> reached = {&backward};
  std::set<OpCallId> seen = {backward.id};
  for (size_t next = 0; next < reached.size() && next < kMostReached; ++next) {
    const OpCall& at = *reached[next];
    if (is_lost(at) && (first == nullptr || at.id < first->id)) first = &at;
    for (const Operand& operand : at.operands) {
      const OpCall* made = index.run().call(operand.origin);
      if (made != nullptr && seen.insert(made->id).second) reached.push_back(made);
    }
  }
  if (first == nullptr) first = lost_beside(index, backward, reached);
  return first != nullptr ? first : divisor_lost_before(index, backward);
}

const OpCall* loss_lost_by(const RunIndex& index, const OpCall& origin) {
  for (const OpCall& call : index.judged_calls()) {
    const bool is_of_loss =
        call.process == origin.process &&
        std::ranges::any_of(call.non_finite, [](const NonFinite& found) { return found.is_loss; });
    if (is_of_loss && origin_of_lost_loss(index, call) == &origin) return &call;
  }
  return nullptr;
}

const ScalarArgument* number_beyond(const OpCall& call) {
  const auto dtype = call.result_dtype();
  const DtypeRange* range = dtype ? narrow_range(*dtype) : nullptr;
  const bool writes = (ops::facts_of(call.op) & ops::kMask) != 0 && !was_refused(call);
  if (range == nullptr || !writes) return nullptr;
  const auto is_beyond = [&](const ScalarArgument& scalar) {
    return scalar.name.ends_with("value") && std::isfinite(scalar.value) &&
           scalar.value > range->largest * (1 + 0x1p-11);  // which is no mask's
  };
  const auto found = std::ranges::find_if(call.scalars, is_beyond);
  return found == call.scalars.end() ? nullptr : &*found;
}

bool draws_by_non_finite(const OpCall& call) {
  return call.outcome == Outcome::kThrew &&
         call.error.find("probability tensor contains either") != std::string::npos;
}

bool is_scaled_loss(const OpCall& made) {
  const std::string op = made.short_op();
  if (op != "mul" && op != "mul_") return false;
  const ScalarArgument* factor = made.scalar("other");
  return factor == nullptr || std::fabs(factor->value) > 1;
}

bool scales_losses(const RunIndex& index, uint32_t process) {
  const auto calls = index.judged_calls();
  return std::ranges::any_of(calls, [&](const OpCall& call) {
    if (call.process != process) return false;
    if (index.has(call, ops::kScalesGradients)) return true;
    if (call.op != "aten::ones_like" || call.operands.empty()) return false;
    const Operand& loss = call.operands.front();
    const OpCall* made = index.run().call(loss.origin);
    return loss.requires_grad && element_count(loss) == 1 && made != nullptr &&
           is_scaled_loss(*made);
  });
}

bool is_of_nothing(const OpCall& call) {
  return std::ranges::any_of(call.operands, [](const Operand& operand) {
    return std::find(operand.shape.begin(), operand.shape.end(), 0) != operand.shape.end();
  });
}

}  // namespace dtypecheck::rules
