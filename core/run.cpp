#include "core/run.h"

#include <algorithm>
#include <set>

#include "core/enum_names.h"

namespace dtypecheck {

const char* end_state_name(EndState end) {
  return name_of<kLastEndState>(end, {"running", "exited", "replaced"});
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
