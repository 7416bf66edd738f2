// Finds: BFloat16 or Half parameters stepped in place by arithmetic, with neither Float masters nor
// stochastic rounding nor compensation.
// Misses: optimizers that write a parameter by copy_ from a result that was rounded to nearest.
#include <fmt/format.h>

#include <map>
#include <set>

#include "rules/engine/cures.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

struct Stepped {
  const OpCall* first = nullptr;
  const Operand* parameter = nullptr;
};

// The step itself says more than the weight decay that often comes before it.
bool is_better(const RunIndex& index, const OpCall& call, const Stepped& than) {
  if (than.first == nullptr) return true;
  return index.has(*than.first, ops::kScales) && !index.has(call, ops::kScales);
}

// Kahan summation reads the parameter back after the step, to keep what the rounding took.
bool compensates(const RunIndex& index, const OpCall& call) {
  if (!index.has(call, ops::kSubtracts) || call.site.phase != Phase::kOptimizer) return false;
  for (const Operand& operand : call.operands) {
    const bool is_self = operand.name == "self" || operand.name.starts_with("self[");
    if (!is_self && operand.is_leaf && operand.requires_grad &&
        operand.dtypes.within(kLowPrecision)) {
      return true;
    }
  }
  return false;
}

std::string message(Dtype dtype, const Operand& parameter) {
  const std::string among =
      parameter.parameter.empty() ? "" : fmt::format(", {} among them", parameter.parameter);
  return fmt::format("{} parameters are stepped in place{}", dtype_name(dtype), among);
}

void report(const RunIndex& index, Dtype dtype, const Stepped& stepped, Findings& out) {
  out.add(*stepped.first, message(dtype, *stepped.parameter), [&] {
    const bool is_bf16 = dtype == Dtype::kBFloat16;
    Details details;
    details.odd = stepped.parameter->name;
    details.why = fmt::format(
        "{} has {} bits: a step smaller than about 1/{} of the parameter's value (2^-{}) "
        "rounds away, and most elements of a model never move",
        dtype_name(dtype), is_bf16 ? 8 : 11, is_bf16 ? 512 : 4096, is_bf16 ? 9 : 12);
    details.cures = {CureWriter(index, out.options()).master_weights(*stepped.first)};
    if (!is_bf16) details.follows = {{&fp16_trainable}};
    return details;
  });
}

void check_run(const RunIndex& index, Findings& out) {
  std::map<std::pair<uint32_t, Dtype>, Stepped> stepped;
  std::set<uint32_t> compensated;
  for (const OpCall& call : index.judged_calls()) {
    if (compensates(index, call)) compensated.insert(call.process);
    const Operand* parameter = index.stepped_parameter(call, kLowPrecision);
    if (parameter == nullptr) continue;
    Stepped& first = stepped[{call.process, *parameter->dtypes.single()}];
    if (is_better(index, call, first)) first = {&call, parameter};
  }
  for (const auto& [key, first] : stepped) {
    if (!compensated.contains(key.first)) report(index, key.second, first, out);
  }
}

}  // namespace

const Rule lost_update = {
    .doc = {.id = "lost-update",
            .severity = Severity::kWarning,
            .summary =
                "low-precision parameters are stepped in place with neither Float masters nor "
                "stochastic rounding",
            .why =
                "A step smaller than half the gap to the next number rounds back to the old value: "
                "below 2^-9 of it in BFloat16, 2^-12 in Half. The loss falls slowly or not at all.",
            .fix =
                "Train Float parameters under autocast, or use an optimizer with Float masters or "
                "stochastic rounding.",
            .example = R"(
op aten::add_ self=BFloat16[4,320]%unet.lora_A.weight!out^^ other=BFloat16[4,320] alpha:=-0.0001 -> BFloat16[4,320] at train.py:205 phase optimizer step 1-100 count 100
# EXPECT train.py:205: warning: BFloat16 parameters are stepped in place, unet.lora_A.weight among them [lost-update]
# Stochastic rounding computes in Float and copies the outcome.
op aten::copy_ self=BFloat16[4,320]%unet.lora_B.weight!out^^ src=BFloat16[4,320] -> BFloat16[4,320] at optim.py:31 phase optimizer step 1-100 count 100
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
