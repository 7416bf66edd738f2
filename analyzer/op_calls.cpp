#include "analyzer/op_calls.h"

#include "analyzer/op_answers.h"
#include "rules/engine/rule.h"

namespace dtypecheck::analyzer {

namespace {

using contracts::Acceptance;
using contracts::Answer;
using contracts::Contracts;

size_t runtime_of(const std::string& libtorch, const Contracts& contracts) {
  if (const auto found = contracts.find("cpu", libtorch)) return *found;
  return contracts.newest("cpu").value();  // there is one in what ships
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
  // Where a kernel is missing depends on the device, which source seldom tells: the CPU's tables
  // are asked for mixes only, which every device refuses alike.
  if (const auto only = floating(call).single()) {
    give_result(call, contracts.behaviour(call.op, runtime).always.value_or(*only));
    return true;
  }
  const Answer answer = contracts.ask(runtime, call);
  if (answer.acceptance == Acceptance::kUnknown) return false;
  if (answer.acceptance == Acceptance::kAccepts) {
    if (answer.results.empty()) return false;
    give_result(call, answer.results.front());
    return true;
  }
  call.outcome = Outcome::kThrew;
  call.throws = 1;
  call.error = answer.message;
  call.error_type = answer.error_type;
  return true;
}

}  // namespace

std::vector<Finding> judge_ops(const std::vector<SourceFacts>& files, const std::string& libtorch,
                               const LineText& line_text, Run& run) {
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
  std::vector<Finding> findings = rules::judge(run, {.line_text = line_text, .is_source = true});
  std::erase_if(findings, [](const Finding& finding) { return finding.call == kNoOpCall; });
  for (Finding& finding : findings) {
    const Place& place = places.at(finding.call - 1);
    finding.column = place.column;
    finding.end_column = place.end_column;
  }
  return findings;
}

}  // namespace dtypecheck::analyzer
