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
#include "rules/engine/rounding.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

std::optional<double> rounded(double value, DtypeSet dtypes) {
  const auto dtype = dtypes.single();
  if (dtype == Dtype::kHalf) return round_to_half(value);
  if (dtype == Dtype::kBFloat16) return round_to_bfloat16(value);
  if (dtype == Dtype::kFloat) return static_cast<double>(static_cast<float>(value));
  return std::nullopt;
}

const Operand* tensor_of(const OpCall& call) {
  const auto tensor =
      std::find_if(call.operands.begin(), call.operands.end(),
                   [](const Operand& o) { return o.is_floating() && !o.is_wrapped_number; });
  return tensor == call.operands.end() ? nullptr : &*tensor;
}

const ScalarArgument* vanishing_scalar(const OpCall& call, DtypeSet dtypes) {
  for (const ScalarArgument& scalar : call.scalars) {
    // alpha and value are factors, computed in Float inside.
    const bool is_added = (ops::argument_facts(scalar.name) & ops::kAddend) != 0;
    if (scalar.dtype || scalar.value == 0 || !is_added) continue;
    if (rounded(scalar.value, dtypes) == 0.0) return &scalar;
  }
  return nullptr;
}

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

Details explain(const RunIndex& index, const JudgeOptions& options, const OpCall& call,
                const Operand& tensor) {
  const OpCall* division = division_by(index, call, tensor);
  const bool in_optimizer = call.site.phase == Phase::kOptimizer;
  Details details;
  details.odd = tensor.name;
  details.severity = in_optimizer && division != nullptr ? Severity::kError : Severity::kWarning;
  details.why =
      division == nullptr
          ? fmt::format("{} adds an eps that is 0 here, so it keeps no denominator away from 0",
                        call.op)
          : fmt::format(
                "{} adds an eps that is 0 here, and {} divides by the result: 0/0 is NaN, anything "
                "else over 0 is infinite",
                call.op, division->op);
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
  if (!index.has(call, ops::kAddsScalar) || call.scalars.empty()) return;
  const Operand* tensor = tensor_of(call);
  if (tensor == nullptr) return;
  // An op that answers in a wider dtype computes in it.
  const DtypeSet dtypes = call.results.empty() ? tensor->dtypes : call.results.front().dtypes;
  const ScalarArgument* scalar = vanishing_scalar(call, dtypes);
  if (scalar == nullptr) return;
  const std::string message =
      fmt::format("{} is 0 in {}", number(scalar->value), dtypes.to_string());
  out.add(call, message, [&] { return explain(index, out.options(), call, *tensor); });
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
