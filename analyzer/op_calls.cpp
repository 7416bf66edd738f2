#include "analyzer/op_calls.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "analyzer/op_answers.h"
#include "analyzer/op_fixes.h"
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
  return std::ranges::all_of(
      call.operands, [](const Operand& operand) { return operand.dtypes.single().has_value(); });
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
                              (operand.text.empty() ? operand.name : operand.text) + " is made " +
                                  dtype_name(*dtype)});  // a macro has no text
  }
}

void add_callers(Finding& finding, const SourceOp& op) {
  for (const Place& call : op.led_here)
    finding.places.push_back(
        {{call.file, call.line, ""}, call.column, call.end_column, "this call leads here"});
}

// What the files of a run say of one another's modules: a function's layers are given what its
// callers give it, and have the dtype that they made, or cast, the module in.
class Modules {
 public:
  explicit Modules(const std::vector<SourceFacts>& files) {
    for (const SourceFacts& facts : files) {
      are_all_float_ = are_all_float_ && !facts.lowers_modules;
      default_ |= facts.default_dtype;
      for (const SourceOp& op : facts.layer_inputs) layers_[op.assumes].push_back(&op);
      for (const SourceOp& op : facts.module_calls) calls_[op.op].push_back(&op);
    }
    if (default_.size() > 1) are_all_float_ = false;
    for (const SourceFacts& facts : files) {
      const auto& walked = facts.walked;
      for (const SourceOp& call : facts.module_calls) {
        if (std::find(walked.begin(), walked.end(), call.op) == walked.end()) add_ops_of(call);
      }
    }
  }

  // The ops of layers, at the line of the call that leads to them.
  const std::deque<std::pair<SourceOp, Place>>& ops() const { return ops_; }

  // The op with what a module is that is said to be of the default dtype.
  const SourceOp& as_made(const SourceOp& op) {
    if (op.assumes.empty() || default_.empty()) return op;
    made_.push_back(op);
    for (SourceOperand& operand : made_.back().operands) {
      if (operand.is_assumed) operand.dtypes = default_;
    }
    return made_.back();
  }

  // No file casts a module to another dtype; or each caller that is seen has it in Float.
  bool is_float(const std::string& function, int depth = 0) const {
    if (are_all_float_) return true;
    const auto calls = calls_.find(function);
    if (calls == calls_.end() || depth > kMaxDepth) return false;
    return std::ranges::all_of(calls->second, [&](const SourceOp* call) {
      return call->operands.back().dtypes == DtypeSet(Dtype::kFloat) && holds(*call, depth + 1);
    });
  }
  bool holds(const SourceOp& op, int depth = 0) const {
    return op.assumes.empty() || is_float(op.assumes, depth);
  }

 private:
  static constexpr int kMaxDepth = 8;

  void add_ops_of(const SourceOp& call) {
    const auto layers = layers_.find(call.op);
    if (layers == layers_.end() || call.operands.empty() || !holds(call)) return;
    SourceOperand module = call.operands.back();
    if (module.is_assumed && !default_.empty()) module.dtypes = default_;
    if (!module.dtypes.single()) return;
    for (const SourceOp* layer : layers->second) {
      SourceOp op = *layer;
      op.place = call.place;
      op.function = call.function;
      op.assumes.clear();
      for (SourceOperand& operand : op.operands) {
        const SourceOperand* given = operand.is_assumed ? &module : argument(call, operand);
        if (given == nullptr) continue;
        operand.dtypes = given->dtypes;
        operand.made = given->made;
        if (!operand.is_assumed) operand.text = given->text;
      }
      ops_.emplace_back(std::move(op), layer->place);
    }
  }
  static const SourceOperand* argument(const SourceOp& call, const SourceOperand& operand) {
    for (const SourceOperand& given : call.operands) {
      if (operand.parameter >= 0 && given.parameter == operand.parameter) return &given;
    }
    return nullptr;
  }

  bool are_all_float_ = true;
  DtypeSet default_;  // that a file sets
  std::deque<SourceOp> made_;
  std::map<std::string, std::vector<const SourceOp*>> layers_, calls_;  // by function
  std::deque<std::pair<SourceOp, Place>> ops_;
};

// "the dtype of x is not known here, and none that it may have is taken"
std::string said_of_unknown(const SourceOp& op) {
  std::string names;
  for (const SourceOperand& operand : op.operands) {
    if (operand.dtypes.single()) continue;
    names += (names.empty() ? "" : " and ") + operand.text;
  }
  return names.empty() ? "" : "the dtype of " + names + " is not known here, and none is taken";
}

using JudgedOps = std::vector<std::pair<const SourceOp*, Place>>;  // by call; where it leads to

// It is given what was computed of the operand that widened the result of `before`.
bool comes_of(const SourceOp& op, const SourceOp& before, const std::string& odd_operand) {
  return std::ranges::any_of(before.operands, [&](const auto& wide) {
    if (wide.name != odd_operand || wide.made.line == 0) return false;
    return std::ranges::any_of(op.operands, [&](const SourceOperand& given) {
      return given.made == wide.made && given.dtypes == wide.dtypes && given.text != wide.text;
    });
  });
}

// A refusal of what a promotion widened follows from that, which has the cure.
void link_consequences(std::vector<Finding>& findings, const Run& run, const JudgedOps& ops) {
  for (Finding& refused : findings) {
    if (run.call(refused.call)->outcome != Outcome::kThrew) continue;
    for (Finding& promotion : findings) {
      const bool is_before = promotion.rule == "silent-promotion" && promotion.call < refused.call;
      if (!is_before || !refused.follows.empty() ||
          !comes_of(*ops.at(refused.call - 1).first, *ops.at(promotion.call - 1).first,
                    promotion.odd_operand))
        continue;
      refused.follows = promotion.id;
      refused.edits.clear();
      promotion.severity = refused.severity;
    }
  }
}

// A check tells of it, with the cure that it has.
bool is_division_in_place(const SourceFacts& facts, const SourceOp& op) {
  return op.op.starts_with("div_") &&
         std::ranges::any_of(facts.integer_divisions, [&](const IntegerDivision& division) {
           return division.place.file == op.place.file && division.place.line == op.place.line;
         });
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
  JudgedOps ops;
  const auto add = [&](const SourceOp& op, const Place& inner) {
    OpCall call = call_of(op);
    if (auto refusal = refusal_of(op, libtorch)) {
      call = std::move(refusal->call);
      refuse(call, std::move(refusal->error), std::move(refusal->error_type));
    } else if (!decide(call, contracts, runtime)) {
      return;
    }
    call.id = static_cast<OpCallId>(run.calls.size() + 1);
    run.calls.push_back(std::move(call));
    ops.emplace_back(&op, inner);
  };
  Modules modules(files);
  for (const SourceFacts& facts : files) {
    for (const SourceOp& op : facts.ops) {
      if (modules.holds(op) && !is_division_in_place(facts, op)) add(modules.as_made(op), {});
    }
  }
  for (const auto& [op, inner] : modules.ops()) add(op, inner);
  std::vector<Finding> findings = rules::judge(run, {.line_text = line_text, .is_source = true});
  std::erase_if(findings, [](const Finding& finding) { return finding.call == kNoOpCall; });
  for (Finding& finding : findings) {
    const auto& [found, inner] = ops.at(finding.call - 1);
    const SourceOp& op = *found;
    finding.column = op.place.column;
    finding.end_column = op.place.end_column;
    add_makers(finding, op);
    add_callers(finding, op);
    add_cast(finding, op, inner.line == 0);
    add_options(finding, op);
    if (inner.line > 0)
      finding.places.push_back({{inner.file, inner.line, ""},
                                inner.column,
                                inner.end_column,
                                op.op + " is called here"});
    if (const std::string said = said_of_unknown(op); !said.empty())
      finding.why += (finding.why.empty() ? "" : "; ") + said;
  }
  link_consequences(findings, run, ops);
  return findings;
}

}  // namespace dtypecheck::analyzer
