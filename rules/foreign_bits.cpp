// Finds: the 16 bits of BFloat16 numbers that are stored, as integers or as they are, where they
// are read as Half, or the other way round: a cache or a buffer of another dtype than what is
// written. Misses: bits that an extension copies, and those of tensors whose making was not seen.
// Silent on storage that is read in the dtype in which it was written, whatever it was made in.
#include <fmt/format.h>

#include <algorithm>

#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

bool is_reinterpretation(const OpCall& call) {
  return call.short_op() == "view" && call.overload == "dtype" && call.operands.size() == 1;
}

// The numbers of 16 bits that the operand, itself of another dtype, has the bits of.
const OpCall* taken_as_bits(const RunIndex& index, const Operand& operand) {
  const OpCall* origin = index.run().call(operand.origin);
  const bool is_bits = origin != nullptr && is_reinterpretation(*origin) &&
                       origin->operands.front().dtypes.within(kLowPrecision) &&
                       origin->operands.front().dtypes.size() == 1 &&
                       origin->operands.front().dtypes != operand.dtypes;
  return is_bits ? origin : nullptr;
}

// What was made so, or, as a slice of it may be, of unknown making, is computed with in this dtype.
bool is_read_in(const RunIndex& index, const OpCall& call, const Operand& stored) {
  const auto reads = [&](const OpCall& other) {
    if (other.process != call.process || index.has(other, ops::kView | ops::kFactory)) return false;
    return std::any_of(other.operands.begin(), other.operands.end(), [&](const Operand& operand) {
      return operand.dtypes == stored.dtypes && !operand.is_written && !is_parameter(operand) &&
             (operand.origin == kNoOpCall || operand.origin == stored.origin);
    });
  };
  const auto& calls = index.judged_calls();
  return std::any_of(calls.begin(), calls.end(), reads);
}

bool is_viewed_as(const RunIndex& index, const OpCall& call, DtypeSet dtypes) {
  const auto& calls = index.judged_calls();
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& other) {
    return other.process == call.process && is_reinterpretation(other) &&
           other.result_dtype() == dtypes.single() && other.operands.front().dtypes != dtypes;
  });
}

void report(const RunIndex& index, const OpCall& call, const Operand& written,
            const Operand& stored, const std::string& odd, Findings& out) {
  const std::string bits = dtype_name(*written.dtypes.single()),
                    made = dtype_name(*stored.dtypes.single());
  out.add(call, fmt::format("the bits of {} numbers are read as {}", bits, made), [&] {
    Details details{
        .odd = odd,
        .why =
            fmt::format("what is written are the 16 bits of {} as they are; the tensor that gets "
                        "them is {}, in which they are other numbers",
                        bits, made),
        .fix = fmt::format("make the tensor in {}, or convert what is written by .to({})", bits,
                           torch_dtype(*stored.dtypes.single()))};
    const OpCall* maker = index.run().call(stored.origin);
    const CureProposer propose(index, out.options());
    if (auto cure =
            maker == nullptr ? std::nullopt : propose.cast_result(*maker, *written.dtypes.single()))
      details.cures.push_back(*std::move(cure));
    return details;
  });
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  const OpCall* parent = index.run().call(call.parent);
  if (parent != nullptr && index.is_judged(*parent)) return;  // said of what the line calls
  const auto written = std::find_if(call.operands.begin(), call.operands.end(),
                                    [](const Operand& operand) { return operand.is_written; });
  if (written == call.operands.end()) return;
  const OpCall* storage = taken_as_bits(index, *written);
  if (storage == nullptr) return;
  const Operand& stored = storage->operands.front();
  for (const Operand& operand : call.operands) {
    const OpCall* source = operand.is_written ? nullptr : taken_as_bits(index, operand);
    if (source == nullptr || operand.dtypes != written->dtypes) continue;
    const Operand& numbers = source->operands.front();
    if (numbers.dtypes == stored.dtypes || is_viewed_as(index, call, numbers.dtypes) ||
        !is_read_in(index, call, stored))
      continue;
    report(index, call, numbers, stored, operand.name, out);
  }
}

}  // namespace

const Rule foreign_bits = {
    .doc = {.id = "foreign-bits",
            .severity = Severity::kWarning,
            .summary = "the bits of one floating dtype are read as another's",
            .why = "Half and BFloat16 are both 16 bits wide, so that a copy of the bits into a "
                   "tensor of the other dtype succeeds, and every number in it is wrong.",
            .fix = "Make the tensor in the dtype of what is written, or convert by .to(dtype).",
            .example = R"(
op aten::zeros dtype:=Half -> Half[64,16] at cache.py:4 phase load
op aten::view.dtype self=BFloat16[16] dtype:=Short -> Short[16] at cache.py:9 phase forward
op aten::view.dtype self=Half[64,16]<#1 dtype:=Short -> Short[64,16] at cache.py:9 phase forward
op aten::copy_ self=Short[16]<#3!out src=Short[16]<#2 -> Short[16] at cache.py:9 phase forward
# EXPECT cache.py:9: warning: the bits of BFloat16 numbers are read as Half [foreign-bits]
op aten::_to_copy self=Half[1,16] dtype:=BFloat16 -> BFloat16[1,16] at cache.py:12 phase forward
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
