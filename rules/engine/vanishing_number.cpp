#include "rules/engine/vanishing_number.h"

#include <algorithm>
#include <cmath>

#include "ops/arguments.h"
#include "ops/ops.h"
#include "rules/engine/rounding.h"

namespace dtypecheck::rules {

static std::optional<double> rounded(double value, DtypeSet dtypes) {
  const auto dtype = dtypes.single();
  if (dtype == Dtype::kHalf) return round_to_half(value);
  if (dtype == Dtype::kBFloat16) return round_to_bfloat16(value);
  if (dtype == Dtype::kFloat) return static_cast<double>(static_cast<float>(value));
  return std::nullopt;
}

static const Operand* tensor_of(const OpCall& call) {
  const auto tensor = std::ranges::find_if(
      call.operands, [](const Operand& o) { return o.is_floating() && !o.is_wrapped_number; });
  return tensor == call.operands.end() ? nullptr : &*tensor;
}

static const ScalarArgument* vanishing_scalar(const OpCall& call, DtypeSet dtypes) {
  for (const ScalarArgument& scalar : call.scalars) {
    // alpha and value are factors, computed in Float inside.
    const bool is_added = (ops::argument_facts(scalar.name) & ops::kAddend) != 0;
    if (scalar.dtype || scalar.value == 0 || !is_added) continue;
    if (rounded(scalar.value, dtypes) == 0.0) return &scalar;
  }
  return nullptr;
}

std::optional<VanishingNumber> vanishing_number(const OpCall& call) {
  const bool adds = (ops::facts_of(call.op) & ops::kAddsScalar) != 0 && !call.scalars.empty();
  const Operand* tensor = adds ? tensor_of(call) : nullptr;
  if (tensor == nullptr) return std::nullopt;
  // An op that answers in a wider dtype computes in it.
  const DtypeSet dtypes = call.results.empty() ? tensor->dtypes : call.results.front().dtypes;
  const ScalarArgument* scalar = vanishing_scalar(call, dtypes);
  if (scalar == nullptr) return std::nullopt;
  return VanishingNumber{scalar, tensor, dtypes};
}

const ScalarArgument* lost_bound(const OpCall& call) {
  const Operand* tensor = tensor_of(call);
  if (tensor == nullptr || !ops::parse_op_name(call.op).base.starts_with("clamp")) return nullptr;
  for (const ScalarArgument& bound : call.scalars) {
    const double whole = std::round(bound.value);
    const bool is_beside = !bound.dtype && whole != 0 && bound.value != whole;
    if (is_beside && rounded(bound.value, tensor->dtypes) == whole) return &bound;
  }
  return nullptr;
}

}  // namespace dtypecheck::rules
