#include "analyzer/op_calls.h"

#include "ops/arguments.h"
#include "rules/engine/rule.h"

namespace dtypecheck::analyzer {

namespace {

using contracts::Answer;
using contracts::Contracts;
using contracts::Verdict;

// Where a kernel is missing depends on the device, which source seldom tells: the CPU's tables are
// asked for mixes only, which every device refuses alike.
size_t runtime_of(const std::string& libtorch, const Contracts& contracts) {
  if (const auto found = contracts.find("cpu", libtorch)) return *found;
  return contracts.newest("cpu").value();  // there is one in what ships
}

OpCall call_of(const SourceOp& op) {
  OpCall call;
  call.op = "aten::" + op.op;
  call.site.phase = Phase::kForward;
  for (const SourceOperand& given : op.operands) {
    Operand operand;
    operand.name = given.name;
    operand.dtypes = given.dtypes;
    operand.has_shape = false;
    operand.role = ops::role_of_argument(given.name);
    if (given.is_trained) {
      operand.parameter = given.text;
      operand.role = Role::kWeight;
      operand.is_leaf = operand.requires_grad = operand.is_written = true;
      call.site.phase = Phase::kOptimizer;
    }
    call.operands.push_back(std::move(operand));
  }
  for (const auto& [name, value] : op.scalars) call.scalars.push_back({name, value, std::nullopt});
  call.site.line = {op.place.file, op.place.line, op.function};
  call.site.inner = call.site.line;
  return call;
}

DtypeSet floating(const OpCall& call) {
  DtypeSet all;
  for (const Operand& operand : call.operands) all |= operand.dtypes & kFloating;
  return all;
}

void give_result(OpCall& call, Dtype dtype) {
  Operand result;
  result.dtypes = dtype;
  result.has_shape = false;
  call.results.push_back(std::move(result));
}

// False where the tables do not know what becomes of the call.
bool decide(OpCall& call, const Contracts& contracts, size_t runtime) {
  if (floating(call).size() == 1) {
    give_result(call, *floating(call).single());
    return true;
  }
  for (const char* overload : {"", "Tensor"}) {
    call.overload = overload;
    const Answer answer = contracts.ask(runtime, call);
    if (answer.verdict == Verdict::kUnknown) continue;
    if (answer.verdict == Verdict::kAccepts) {
      if (answer.results.empty()) return false;
      give_result(call, answer.results.front());
    } else {
      call.outcome = Outcome::kThrew;
      call.throws = 1;
      call.error = answer.message;
      call.error_type = answer.error_type;
    }
    return true;
  }
  return false;
}

}  // namespace

std::vector<Finding> judge_ops(const std::vector<SourceFacts>& files, const std::string& libtorch,
                               Run& run) {
  const Contracts& contracts = Contracts::shipped();
  const size_t runtime = runtime_of(libtorch, contracts);
  Process process;  // rules ask it for the version
  process.libtorch = contracts.runtimes().at(runtime).version;
  process.end = EndState::kExited;
  run.processes = {std::move(process)};
  std::vector<Place> places;  // by call
  for (const SourceFacts& facts : files) {
    for (const SourceOp& op : facts.ops) {
      OpCall call = call_of(op);
      if (!decide(call, contracts, runtime)) continue;
      call.id = static_cast<OpCallId>(run.calls.size() + 1);
      run.calls.push_back(std::move(call));
      places.push_back(op.place);
    }
  }
  std::vector<Finding> findings = rules::judge(run, {.is_source = true});
  std::erase_if(findings, [](const Finding& finding) { return finding.call == kNoOpCall; });
  for (Finding& finding : findings) {
    const Place& place = places.at(finding.call - 1);
    finding.column = place.column;
    finding.end_column = place.end_column;
  }
  return findings;
}

}  // namespace dtypecheck::analyzer
