#include "rules/engine/provenance.h"

namespace dtypecheck::rules {
namespace {

constexpr int kMaxSteps = 64;  // long enough for a network's block; a circle ends here too

// What handed this dtype on: an activation before a parameter, since a parameter's dtype explains
// less than that of the tensor that flowed in.
const Operand* giver_of(const OpCall& call, DtypeSet dtypes) {
  const Operand* parameter = nullptr;
  for (const Operand& operand : call.operands) {
    if (operand.dtypes != dtypes || operand.is_wrapped_number) continue;
    if (!is_parameter(operand)) return &operand;
    if (parameter == nullptr) parameter = &operand;
  }
  return parameter;
}

// A cast to the dtype that the tensor had already (to another device, say) made nothing.
bool changes_dtype(const RunIndex& index, const OpCall& call, DtypeSet dtypes) {
  return index.has(call, ops::kCast) && !call.operands.empty() &&
         call.operands.front().dtypes != dtypes;
}

}  // namespace

DtypeSource dtype_source(const RunIndex& index, const Operand& operand) {
  DtypeSource source;
  const Operand* current = &operand;
  for (int step = 0; step < kMaxSteps; ++step) {
    const OpCall* call = index.run().call(current->origin);
    if (call == nullptr) break;
    const Operand* giver = giver_of(*call, operand.dtypes);
    if (giver == nullptr || changes_dtype(index, *call, operand.dtypes)) {
      source.maker = call;
      return source;
    }
    if (index.promotes(*call) && call->floating_dtypes().size() > 1) {
      source.promotion = call;
      source.promoted_by = giver;
    }
    if (is_parameter(*giver)) source.parameter = giver;
    current = giver;
  }
  return source;
}

const Operand* parameter_behind(const RunIndex& index, const Operand& operand) {
  const Operand* current = &operand;
  for (int step = 0; step < kMaxSteps; ++step) {
    if (is_parameter(*current)) return current;
    const OpCall* call = index.run().call(current->origin);
    if (call == nullptr || !index.has(*call, ops::kPassesOn) || call->operands.empty())
      return nullptr;
    current = &call->operands.front();
  }
  return nullptr;
}

}  // namespace dtypecheck::rules
