// Finds: a sum of two tensors of Bool that is then compared with 2 or more, as of masks of uint8
// in older LibTorch: Bool + Bool is a logical or, and the answer is the same for every element.
// Misses: such a sum that is only counted, which may be meant; sums of three.
#include <fmt/format.h>

#include <algorithm>

#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr DtypeSet kBool = DtypeSet(Dtype::kBool);

bool is_tensor_of_bool(const Operand& operand) {
  return operand.dtypes == kBool && operand.has_shape && !operand.shape.empty();
}

// Null where it is something else.
const OpCall* sum_of_bools(const RunIndex& index, const OpCall& comparison) {
  if (comparison.operands.empty() || !is_tensor_of_bool(comparison.operands.front()))
    return nullptr;
  const OpCall* made = index.run().call(comparison.operands.front().origin);
  const bool is_sum = made != nullptr && made->short_op().starts_with("add") &&
                      made->operands.size() == 2 &&
                      std::all_of(made->operands.begin(), made->operands.end(), is_tensor_of_bool);
  return is_sum ? made : nullptr;
}

// "False" or "True" where no Bool gives another answer.
const char* answer_of(const OpCall& comparison) {
  const ScalarArgument* number = comparison.scalar("other");
  if (number == nullptr || number->dtype || number->value <= 1) return nullptr;
  const std::string op = comparison.short_op();
  if (op == "eq" || op == "ge" || op == "gt") return "False";
  return op == "ne" || op == "le" || op == "lt" ? "True" : nullptr;
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  const char* answer = answer_of(call);
  const OpCall* sum = answer == nullptr ? nullptr : sum_of_bools(index, call);
  if (sum == nullptr) return;
  const std::string message =
      fmt::format("a sum of Bools is compared with {}, which is {} for each",
                  number(call.scalar("other")->value), answer);
  out.add(call, message, [&] {
    const CureProposer propose(index, out.options());
    const Operand& first = sum->operands.front();
    auto cure = propose.cast_operand(*sum, first, Dtype::kLong, noun_of(first));
    return Details{.odd = call.operands.front().name,
                   .why = fmt::format("{}{} of Bools is a logical or: True + True is True", sum->op,
                                      at_place(sum->site)),
                   .fix = "cast one of them to torch.int64 before the sum, or write & and |",
                   .cures = cure ? std::vector{*std::move(cure)} : std::vector<Cure>()};
  });
}

}  // namespace

const Rule bool_sum = {
    .doc = {.id = "bool-sum",
            .severity = Severity::kWarning,
            .summary = "a sum of masks is compared as a count, and is a logical or",
            .why =
                "A comparison gives Bool, and Bool + Bool is a logical or. The elements that two "
                "masks share are found by `(a + b) == 2` where these are uint8, as comparisons "
                "were before LibTorch 1.2, and nowhere where they are Bool.",
            .fix = "Write a & b, or cast one of them to torch.int64 before the sum.",
            .example = R"(
op aten::eq.Scalar self=Long[96] other:=0 -> Bool[96] at losses.py:27
op aten::add.Tensor self=Bool[96]<#1 other=Bool[96]<#1 -> Bool[96] at losses.py:30
op aten::eq.Scalar self=Bool[96]<#2 other:=2 -> Bool[96] at losses.py:30
# EXPECT losses.py:30: warning: a sum of Bools is compared with 2, which is False for each [bool-sum]
# EXPECT-FIX cast the input of add to Long, losses.py:30
# The elements that one of them has.
op aten::ge.Scalar self=Bool[96]<#2 other:=1 -> Bool[96] at losses.py:31
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
