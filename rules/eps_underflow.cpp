// Finds: a small number, an epsilon mostly, that is 0 in the dtype of the tensor it is added to.
// Misses: numbers that are merely coarse there, and kernels that compute in Float inside: the fused
// optimizers and the norms keep their eps (measured on LibTorch 2.11: fused AdamW with Half
// parameters and eps 1e-8 stays finite where the others give NaN).
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ops/arguments.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/vanishing_number.h"

namespace dtypecheck::rules {
namespace {

bool divides_by(const OpCall& division, OpCallId origin) {
  return std::any_of(
      division.operands.begin(), division.operands.end(), [&](const Operand& operand) {
        return operand.origin == origin && ops::is_divisor(division.op, operand.name);
      });
}

// An in-place add keeps its tensor: the division may know it by the call that made it.
const OpCall* division_by(const RunIndex& index, const OpCall& call, const Operand& tensor) {
  for (const OpCall* made : {&call, index.run().call(tensor.origin)}) {
    if (made == nullptr) continue;
    for (const OpCallId id : index.consumers(*made)) {
      const OpCall& consumer = index.run().calls[id - 1];
      if (index.has(consumer, ops::kDivides) && consumer.id > call.id &&
          divides_by(consumer, made->id))
        return &consumer;
    }
  }
  return nullptr;
}

// What reads the result and has no finite answer at 0, where a division is not known.
const OpCall* logarithm_of(const RunIndex& index, const OpCall& call) {
  for (const OpCallId id : index.consumers(call)) {
    const OpCall& consumer = index.run().calls[id - 1];
    const ops::OpName name = ops::parse_op_name(consumer.op);
    if (name.base == "log" || name.base == "log2" || name.base == "log10") return &consumer;
  }
  return nullptr;
}

// clamp(x, min=1e-8) lets nothing below a floor, which it adds to nothing.
std::string use_of_number(const RunIndex& index, const OpCall& call, const OpCall* division) {
  const std::string_view name = ops::parse_op_name(call.op).base;
  const bool is_floor = name.starts_with("clamp") || name == "maximum";
  const std::string what = fmt::format(
      "{} {}", call.op, is_floor ? "has a floor that is 0 here" : "adds an eps that is 0 here");
  if (division != nullptr)
    return fmt::format(
        "{}, and {} divides by the result: 0/0 is NaN, anything else over 0 is "
        "infinite",
        what, division->op);
  if (const OpCall* logarithm = logarithm_of(index, call))
    return fmt::format("{}, and {} reads the result, whose logarithm at 0 is infinite", what,
                       logarithm->op);
  return fmt::format("{}, so it keeps no {} away from 0", what,
                     is_floor ? "number" : "denominator");
}

Details explain(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                const Operand& tensor) {
  const OpCall* division = division_by(index, call, tensor);
  const bool in_optimizer = call.site.phase == Phase::kOptimizer;
  Details details;
  details.odd = tensor.name;
  details.severity = in_optimizer && division != nullptr ? Severity::kError : Severity::kWarning;
  details.why = use_of_number(index, call, division);
  const CureProposer propose(index, options);
  if (in_optimizer) {
    details.why += "; an eps of 1e-4 would be finite, and the steps still too coarse";
    details.cures = {propose.master_weights(call, nullptr),
                     propose.rewrite(call, Dtype::kHalf, "optimizer epsilon",
                                     "give the optimizer that steps here an eps of 1e-4")};
    details.follows = {{&fp16_trainable}};
  } else if (auto cure = propose.cast_operand(call, tensor, Dtype::kFloat, noun_of(tensor))) {
    details.cures = {*std::move(cure)};
    if (const auto dtype = tensor.dtypes.single())
      details.cures.push_back(propose.fit_epsilon(call, *dtype));
  }
  return details;
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  const auto found = vanishing_number(call);
  if (!found) return;
  const std::string message =
      fmt::format("{} is 0 in {}", number(found->scalar->value), found->dtypes.to_string());
  out.add(call, message, [&] { return explain(index, out.options(), call, *found->tensor); });
}

}  // namespace

const Rule eps_underflow = {
    .doc =
        {.id = "eps-underflow",
         .severity = Severity::kWarning,
         .summary = "an epsilon is 0 in the dtype that it is used in",
         .why =
             "Half has no number between 0 and 6e-8, so an eps of 1e-8 keeps nothing away from 0: "
             "AdamW on Half parameters divides by 0 in its first step.",
         .fix = "Keep parameters and optimizer state in Float, or take an eps that the dtype can "
                "hold.",
         .example = R"(
op aten::_foreach_add_.Scalar self=Half[4,320]!out, scalar:=1e-08 at train.py:205 phase optimizer step 1
# EXPECT train.py:205: warning: 1e-08 is 0 in Half [eps-underflow]
# BFloat16 has the exponents of Float.
op aten::_foreach_add_.Scalar self=BFloat16[4,320]!out, scalar:=1e-08 at train.py:206 phase optimizer step 1
)"},
    .check = check,
    .judges_source = true,
};

}  // namespace dtypecheck::rules
