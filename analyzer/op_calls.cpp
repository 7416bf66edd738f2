#include "analyzer/op_calls.h"

#include <algorithm>
#include <utility>

#include "analyzer/op_answers.h"
#include "analyzer/op_refusals.h"
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

bool is_known(const OpCall& call) {
  return std::all_of(call.operands.begin(), call.operands.end(),
                     [](const Operand& operand) { return operand.dtypes.single().has_value(); });
}

void refuse(OpCall& call, std::string message, std::string type) {
  call.outcome = Outcome::kThrew;
  call.throws = 1;
  call.error = std::move(message);
  call.error_type = std::move(type);
}

// False where the tables do not know what becomes of the call.
bool decide(OpCall& call, const Contracts& contracts, size_t runtime) {
  if (!is_known(call)) return false;
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
  refuse(call, answer.message, answer.error_type);
  return true;
}

// Where the operands that are known were made.
void add_makers(Finding& finding, const SourceOp& op) {
  for (const SourceOperand& operand : op.operands) {
    const auto dtype = operand.dtypes.single();
    if (operand.made.line == 0 || !dtype) continue;
    finding.places.push_back({{operand.made.file, operand.made.line, op.function},
                              operand.made.column,
                              operand.made.end_column,
                              operand.text + " is made " + dtype_name(*dtype)});
  }
}

// "the dtype of x is not known here, and none that it may have is taken"
std::string said_of_unknown(const SourceOp& op) {
  std::string names;
  for (const SourceOperand& operand : op.operands) {
    if (operand.dtypes.single()) continue;
    names += (names.empty() ? "" : " and ") + operand.text;
  }
  return names.empty() ? "" : "the dtype of " + names + " is not known here, and none is taken";
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
  std::vector<const SourceOp*> ops;  // by call
  for (const SourceFacts& facts : files) {
    for (const SourceOp& op : facts.ops) {
      OpCall call = call_of(op);
      if (auto refusal = refusal_of(op, libtorch)) {
        call = std::move(refusal->call);
        refuse(call, std::move(refusal->error), std::move(refusal->error_type));
      } else if (!decide(call, contracts, runtime)) {
        continue;
      }
      call.id = static_cast<OpCallId>(run.calls.size() + 1);
      run.calls.push_back(std::move(call));
      ops.push_back(&op);
    }
  }
  std::vector<Finding> findings = rules::judge(run, {.line_text = line_text, .is_source = true});
  std::erase_if(findings, [](const Finding& finding) { return finding.call == kNoOpCall; });
  for (Finding& finding : findings) {
    const SourceOp& op = *ops.at(finding.call - 1);
    finding.column = op.place.column;
    finding.end_column = op.place.end_column;
    add_makers(finding, op);
    if (const std::string said = said_of_unknown(op); !said.empty())
      finding.why += (finding.why.empty() ? "" : "; ") + said;
  }
  return findings;
}

}  // namespace dtypecheck::analyzer
