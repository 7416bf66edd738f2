#include "analyzer/op_answers.h"

#include <set>
#include <string_view>

#include "ops/arguments.h"
#include "ops/ops.h"

namespace dtypecheck::analyzer {
namespace {

using contracts::Acceptance;
using contracts::Answer;
using contracts::Behaviour;
using contracts::Contracts;

constexpr DtypeSet kIntegers = kIntegral | Dtype::kBool;

DtypeSet dtypes_of(const SourceOp& op) {
  DtypeSet all;
  for (const SourceOperand& operand : op.operands) all |= operand.dtypes;
  return all;
}

bool are_known(const SourceOp& op) {
  for (const SourceOperand& operand : op.operands) {
    if (!operand.dtypes.single()) return false;
  }
  return !op.operands.empty();
}

// In place, the result is the tensor that was written.
bool answers_in_first(const SourceOp& op, uint64_t facts, const Behaviour& behaviour) {
  if (ops::parse_op_name(op.op).in_place) return true;
  // Beside weights of another dtype, too, where these are taken.
  static const std::set<std::string_view> kNorms = {"batch_norm", "group_norm", "instance_norm",
                                                    "layer_norm"};
  if (kNorms.contains(op.op)) return true;
  if ((facts & (ops::kView | ops::kCopy)) != 0) return true;
  const bool may_promote = behaviour.promotes && op.operands.size() > 1;
  return (facts & ops::kKeepsDtype) != 0 && !may_promote;
}

// Of operands that are all known. Numbers without a dtype of their own do not take part.
DtypeSet measured(const SourceOp& op, const Behaviour& behaviour, size_t result) {
  const Contracts& contracts = Contracts::shipped();
  const auto newest = contracts.newest("cpu");
  const Answer answer = newest ? contracts.ask(*newest, call_of(op)) : Answer();
  if (answer.acceptance == Acceptance::kAccepts && result < answer.results.size())
    return answer.results[result];
  const DtypeSet floating = dtypes_of(op) & kFloating;
  if (result > 0) return {};
  // A tensor of integers beside a floating one does not change what a promoting op answers.
  if (behaviour.promotes) {
    const auto dtype = promoted(floating);
    return dtype ? DtypeSet(*dtype) : DtypeSet();
  }
  // A kernel that the CPU lacks is there on a GPU, and answers in the same dtype.
  const bool is_uniform = floating.single().has_value() && !floating.intersects(kFloat8);
  return is_uniform && behaviour.passes_dtype_on ? floating : DtypeSet();
}

}  // namespace

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
    operand.is_written = call.operands.empty() && op.op.ends_with('_');
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

bool promotes(const std::string& op) {
  return Contracts::shipped().behaviour("aten::" + op).promotes;
}

OpAnswer answer_of(const SourceOp& op, size_t result) {
  const std::string name = "aten::" + op.op;
  const uint64_t facts = ops::facts_of(name);
  const Behaviour& behaviour = Contracts::shipped().behaviour(name);
  if (op.op == "one_hot") return {.dtypes = Dtype::kLong, .is_always = true};  // not measured
  if (result == 0 && answers_in_first(op, facts, behaviour)) return {.is_first = true};
  if (const auto always = behaviour.always_in(result))
    return {.dtypes = *always, .is_always = true};
  if (!are_known(op)) return {};
  const bool sums_in_long =
      (facts & ops::kSumsInLong) != 0 && op.operands.front().dtypes.within(kIntegers);
  if (sums_in_long) return {.dtypes = Dtype::kLong};
  return {.dtypes = measured(op, behaviour, result)};
}

}  // namespace dtypecheck::analyzer
