// Finds: a loss in 16 bits that backward() is called on and that was the same number in half of the
// steps as in the one before, as the tracer saw it; as a note, one that moved by one number of its
// dtype at most in half of them.
// Misses: runs of fewer than 16 steps (32), and a loss that is computed in 16 bits and cast to
// Float before backward(). Silent where the loss moves by more.
#include <fmt/format.h>

#include <cmath>

#include "core/follow_links.h"
#include "rules/cures/mix_cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rounding.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

// From this number to the next one up.
double gap_at(double value, int digits) {
  return std::ldexp(1.0, std::ilogb(std::fabs(value)) - digits + 1);
}

// What sums the numbers up, behind signs and factors; nullptr for a sum of several losses, of which
// a cast of one leaves the others as coarse.
const OpCall* summed_by(const RunIndex& index, const OpCall& loss) {
  const OpCall* summed = nullptr;
  follow_links(&loss, [&](const OpCall& at) -> const OpCall* {
    if (index.has(at, ops::kLoss | ops::kReduces)) {
      summed = &at;
      return nullptr;
    }
    std::vector<const Operand*> low;
    for (const Operand& operand : at.operands)
      if (operand.dtypes.within(kLowPrecision) && !operand.is_wrapped_number)
        low.push_back(&operand);
    return low.size() == 1 ? index.run().call(low.front()->origin) : nullptr;
  });
  return summed;
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (!call.inexact || call.op != "aten::ones_like" || call.operands.empty()) return;
  const Operand& loss = call.operands.front();
  const auto dtype = loss.dtypes.single();
  const double value = call.inexact->to;
  if (!dtype || !kLowPrecision.contains(*dtype) || !std::isfinite(value) || value == 0) return;
  const OpCall* made = index.run().call(loss.origin);
  const std::string name = dtype_name(*dtype);
  const bool stands = call.inexact->from > 0;  // else it moves from number to number
  const std::string message =
      stands ? fmt::format(
                   "the loss is {}, and the number of the step before in {:.0f} % of the "
                   "steps",
                   name, call.inexact->from * 100)
             : fmt::format(
                   "the loss is {}, and moved by one number of it at most in {:.0f} % of "
                   "the steps",
                   name, call.inexact->from * -100);
  out.add(made == nullptr ? call : *made, message, [&] {
    const bool is_bf16 = *dtype == Dtype::kBFloat16;
    const OpCall* summed = made == nullptr ? nullptr : summed_by(index, *made);
    const int digits = is_bf16 ? kBFloat16Format.digits : kHalfFormat.digits;
    return Details{
        .why = fmt::format("{} has {} bits: the next number after {:.4g} is {:.4g}, and a "
                           "smaller change of the loss is lost",
                           name, digits, value, value + gap_at(value, digits)),
        .fix =
            "compute the loss in Float: cast what goes into it, "
            "cross_entropy(logits.float(), …)",
        .cures =
            summed == nullptr ? std::vector<Cure>() : loss_cures(index, out.options(), *summed),
        .severity = stands ? Severity::kWarning : Severity::kNote};
  });
  if (made != nullptr) out.relate(made->id, call);
}

}  // namespace

const Rule coarse_loss = {
    .doc = {.id = "coarse-loss",
            .severity = Severity::kWarning,
            .summary = "a loss in 16 bits stands still, since its dtype has no number between",
            .why =
                "BFloat16 has 8 bits: near 6 its numbers are 0.03 apart, so that a loss falls in "
                "steps of that or not at all, and gradients of what is computed so are as coarse.",
            .fix = "Compute the loss in Float: cross_entropy(logits.float(), target).",
            .example = R"(
op aten::nll_loss_forward self=BFloat16[8,400]^ target=Long[8] -> BFloat16[]^ at train.py:20 phase forward step 1-40 count 40
op aten::ones_like self=BFloat16[]<#1^ -> BFloat16[] inexact 0.6 6 at train.py:21 phase backward step 1-40 count 40
# EXPECT train.py:20: warning: the loss is BFloat16, and the number of the step before in 60 % of the steps [coarse-loss]
# EXPECT-CURE cast the input of nll_loss_forward to Float, train.py:20
op aten::nll_loss_forward self=BFloat16[8,400]^ target=Long[8] -> BFloat16[]^ at train.py:25 phase forward step 1-40 count 40
op aten::ones_like self=BFloat16[]<#3^ -> BFloat16[] inexact -0.7 6 at train.py:26 phase backward step 1-40 count 40
# EXPECT train.py:25: note: the loss is BFloat16, and moved by one number of it at most in 70 % of the steps [coarse-loss]
# Two losses, of which a cast of one leaves the other as coarse.
op aten::mean self=BFloat16[8]^ -> BFloat16[]^ at pair.py:20 phase forward step 1-40 count 40
op aten::mean self=BFloat16[8]^ -> BFloat16[]^ at pair.py:21 phase forward step 1-40 count 40
op aten::add self=BFloat16[]<#5^ other=BFloat16[]<#6^ -> BFloat16[]^ at pair.py:22 phase forward step 1-40 count 40
op aten::ones_like self=BFloat16[]<#7^ -> BFloat16[] inexact 0.6 6 at pair.py:23 phase backward step 1-40 count 40
# EXPECT pair.py:22: warning: the loss is BFloat16, and the number of the step before in 60 % of the steps [coarse-loss]
# EXPECT-FIX compute the loss in Float
# A loss that moves by more is not noted.
op aten::nll_loss_forward self=BFloat16[8,400]^ target=Long[8] -> BFloat16[]^ at train.py:30 phase forward step 1-40 count 40
op aten::ones_like self=BFloat16[]<#9^ -> BFloat16[] at train.py:31 phase backward step 1-40 count 40
)"},
    .check = check,
    .loses_steps = true,
};

}  // namespace dtypecheck::rules
