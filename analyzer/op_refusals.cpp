#include "analyzer/op_refusals.h"

#include <vector>

#include "analyzer/op_answers.h"
#include "rules/contracts/contracts.h"
#include "rules/contracts/pattern.h"

namespace dtypecheck::analyzer {
namespace {

using contracts::Acceptance;
using contracts::Answer;
using contracts::Contracts;

// What tensors of programs have; of the others the tables need not know what becomes of them.
constexpr DtypeSet kCommon = kLowPrecision | Dtype::kFloat | Dtype::kDouble | Dtype::kLong;
// So many unknown operands at most are tried in all dtypes.
constexpr size_t kMaxUnknown = 2;

struct Runtimes {
  size_t cpu;
  std::optional<size_t> cuda;
};

Runtimes runtimes_of(const std::string& libtorch, const Contracts& contracts) {
  const auto cpu = contracts.find("cpu", libtorch);
  const auto cuda = contracts.find("cuda", libtorch);
  return {cpu ? *cpu : contracts.newest("cpu").value(), cuda ? cuda : contracts.newest("cuda")};
}

class Trial {
 public:
  Trial(const SourceOp& op, const Runtimes& runtimes) : runtimes_(runtimes), call_(call_of(op)) {
    for (size_t i = 0; i < call_.operands.size(); ++i) {
      if (!call_.operands[i].dtypes.single()) unknown_.push_back(i);
      if (call_.operands[i].dtypes != kAnyDtype) limited_.push_back(i);
    }
    possible_ = call_.operands;
  }

  bool can_tell() const { return !limited_.empty() && unknown_.size() <= kMaxUnknown; }

  std::optional<OpRefusal> refusal() {
    std::optional<OpRefusal> first;
    if (!is_refused(0, first) || !first || !another_is_taken(0)) return std::nullopt;
    return first;
  }

 private:
  // Each dtype of the unknown operands from number `at` on.
  bool is_refused(size_t at, std::optional<OpRefusal>& first) {
    if (at == unknown_.size()) return is_refused_as_it_stands(first);
    Operand& operand = call_.operands[unknown_[at]];
    for (const char letter : contracts::kLetters) {
      operand.dtypes = contracts::dtype_of(letter);
      const bool may_be = possible_[unknown_[at]].dtypes.intersects(operand.dtypes);
      if (may_be && !is_refused(at + 1, first)) return false;
    }
    return true;
  }

  bool is_refused_as_it_stands(std::optional<OpRefusal>& first) {
    const Answer answer = Contracts::shipped().ask(runtimes_.cpu, call_);
    if (answer.acceptance == Acceptance::kAccepts || is_taken_on_cuda()) return false;
    if (answer.acceptance == Acceptance::kUnknown) return !is_common() || !another_would_do();
    if (!first || (!is_apart_ && is_apart())) first = {call_, answer.message, answer.error_type};
    is_apart_ = is_apart_ || is_apart();
    return true;
  }

  bool is_taken_on_cuda() const {
    return runtimes_.cuda &&
           Contracts::shipped().ask(*runtimes_.cuda, call_).acceptance == Acceptance::kAccepts;
  }

  // No unknown operand has the dtype of a known one, so that the message speaks of that alone; or
  // has one of theirs, where the known ones disagree.
  bool is_apart() const {
    DtypeSet known, tried;
    for (size_t i = 0; i < call_.operands.size(); ++i)
      (possible_[i].dtypes.single() ? known : tried) |= call_.operands[i].dtypes;
    return known.intersects(tried) == ((known & kFloating).size() > 1);
  }

  bool is_common() const {
    for (const size_t at : unknown_) {
      if (!call_.operands[at].dtypes.within(kCommon)) return false;
    }
    return true;
  }

  // Were a limited operand of another dtype, some dtype of the unknown ones would do.
  bool another_is_taken(size_t at) {
    if (at < unknown_.size()) {
      for (const char letter : contracts::kFirstLetters) {
        call_.operands[unknown_[at]].dtypes = contracts::dtype_of(letter);
        if (another_is_taken(at + 1)) return true;
      }
      return false;
    }
    return another_would_do();
  }

  bool another_would_do() {
    for (const size_t changed : limited_) {
      const DtypeSet before = call_.operands[changed].dtypes;
      bool is_taken = false;
      for (const char letter : contracts::kLetters) {
        call_.operands[changed].dtypes = contracts::dtype_of(letter);
        is_taken = is_taken || Contracts::shipped().ask(runtimes_.cpu, call_).acceptance ==
                                   Acceptance::kAccepts;
      }
      call_.operands[changed].dtypes = before;
      if (is_taken) return true;
    }
    return false;
  }

  Runtimes runtimes_;
  OpCall call_;
  std::vector<Operand> possible_;
  bool is_apart_ = false;        // of the refusal that is kept
  std::vector<size_t> limited_;  // something is known of
  std::vector<size_t> unknown_;  // several dtypes are possible
};

// Not measured: it looks at them before it calls an op of the tables. Its masks may be Float since
// LibTorch 2.5 whatever the query is.
std::optional<OpRefusal> refusal_of_attention(const SourceOp& op) {
  DtypeSet query;
  for (const SourceOperand& operand : op.operands) {
    const auto dtype = operand.dtypes.single();
    if (operand.name == "attn_mask") {
      const DtypeSet taken = (query.single() ? query : kFloating) | Dtype::kBool | Dtype::kFloat;
      if (!operand.dtypes.intersects(taken))
        return OpRefusal{call_of(op),
                         "Expected attn_mask dtype to be bool or float or to match query dtype.",
                         "RuntimeError"};
    } else if (dtype && query.single() && *query.single() != *dtype) {
      return OpRefusal{call_of(op), "Expected query, key, and value to have the same dtype.",
                       "RuntimeError"};
    } else if (dtype) {
      query = *dtype;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<OpRefusal> refusal_of(const SourceOp& op, const std::string& libtorch) {
  // Not measured: it wants the numbers of classes.
  const auto given = op.operands.empty() ? std::nullopt : op.operands.front().dtypes.single();
  if (op.op == "one_hot" && given && *given != Dtype::kLong)
    return OpRefusal{call_of(op), "one_hot is only applicable to index tensor of type LongTensor.",
                     "RuntimeError"};
  if (op.op == "scaled_dot_product_attention") return refusal_of_attention(op);
  Trial trial(op, runtimes_of(libtorch, Contracts::shipped()));
  return trial.can_tell() ? trial.refusal() : std::nullopt;
}

}  // namespace dtypecheck::analyzer
