// Any text is a contract file or an InputError, and what is said of its ops is one of its words.
#include "rules/contracts/table.h"
#include "target.h"

namespace dtypecheck::fuzz {

static OpCall call_of(const contracts::Op& op, const std::string& device, Dtype dtype) {
  OpCall call{.op = std::string(op.name.substr(0, op.name.find('.')))};
  for (std::string_view names = op.operands; !names.empty();) {
    const size_t end = std::min(names.find(','), names.size());
    call.operands.push_back(
        {.name = std::string(names.substr(0, end)), .dtypes = dtype, .device = {device}});
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return call;
}

void test_input(std::string_view input) {
  const auto table = contracts::read_table(std::string(input), "fuzz");
  contracts::Contracts contracts;
  contracts.add(std::string(input), "fuzz");
  contracts.list_of_runtimes();
  const size_t runtimes = std::min<size_t>(contracts.runtimes().size(), 2);
  for (const contracts::Op& op : table->ops) {
    for (size_t runtime = 0; runtime < runtimes; ++runtime) {
      const std::string device = contracts.runtimes()[runtime].device;
      const std::string version = contracts.runtimes()[runtime].version;
      contracts.behaviour(op.name, runtime);
      for (const Dtype dtype : {Dtype::kFloat, Dtype::kHalf}) {
        const OpCall call = call_of(op, device, dtype);
        for (const auto mode : {contracts::Mode::kCall, contracts::Mode::kBackward})
          contracts.ask(runtime, call, mode);
        contracts.first_accepting(device, version, call);
      }
    }
  }
}

}  // namespace dtypecheck::fuzz
