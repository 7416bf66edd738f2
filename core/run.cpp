#include "core/run.h"

#include <algorithm>
#include <set>

namespace dtypecheck {
namespace {

// What handed its dtype on to the call's result: the first operand that has the same. None: the
// call made the dtype itself, a cast or a factory.
const Operand* giver_of(DtypeSet dtypes, const OpCall& call) {
  const auto giver =
      std::find_if(call.operands.begin(), call.operands.end(), [&](const Operand& o) {
        return o.origin != kNoOpCall && o.dtypes == dtypes && !o.is_wrapped_number;
      });
  return giver == call.operands.end() ? nullptr : &*giver;
}

}  // namespace

const char* end_state_name(EndState end) {
  switch (end) {
    case EndState::kRunning:
      return "running";
    case EndState::kExited:
      return "exited";
    case EndState::kReplaced:
      return "replaced";
  }
  return "running";
}

std::vector<const OpCall*> Run::provenance(const Operand& operand, size_t max_links) const {
  std::vector<const OpCall*> chain;
  const Operand* current = &operand;
  while (current != nullptr && chain.size() < max_links) {
    const OpCall* link = call(current->origin);
    if (link == nullptr || std::find(chain.begin(), chain.end(), link) != chain.end()) break;
    chain.push_back(link);
    current = giver_of(operand.dtypes, *link);
  }
  return chain;
}

std::vector<std::string> Run::device_types_of(uint32_t process) const {
  std::set<std::string> types;
  const auto before = [](const OpCall& call, uint32_t index) { return call.process < index; };
  const auto first = std::lower_bound(calls.begin(), calls.end(), process, before);
  for (auto call = first; call != calls.end() && call->process == process; ++call) {
    for (const std::vector<Operand>* tensors : {&call->operands, &call->results}) {
      for (const Operand& tensor : *tensors) {
        if (!tensor.device.type.empty() && tensor.kind != TensorKind::kUndefined) {
          types.insert(tensor.device.type);
        }
      }
    }
  }
  return {types.begin(), types.end()};
}

}  // namespace dtypecheck
