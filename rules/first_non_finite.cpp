// Finds: the first op whose result has a NaN or an infinity while its operands had none; once a
// process each. Needs a run with value checks.
// Misses: values that became non-finite inside an op that was not sampled. Silent on infinities
// that the program writes itself (attention masks), on memory that was never written, and on the
// infinite gradients by which a GradScaler finds its scale.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

struct First {
  const OpCall* nan = nullptr;
  const OpCall* inf = nullptr;
};

bool is_earlier(const OpCall& call, const OpCall* than) {
  return than == nullptr ||
         std::pair(call.first_step, call.id) < std::pair(than->first_step, than->id);
}

bool has_infinite_scalar(const OpCall& call) {
  return std::any_of(call.scalars.begin(), call.scalars.end(),
                     [](const ScalarArgument& scalar) { return !std::isfinite(scalar.value); });
}

bool is_meant(const RunIndex& index, const OpCall& call) {
  return index.has(call, ops::kFactory | ops::kScalesGradients) || has_infinite_scalar(call) ||
         call.operands.empty() || (!call.result_nan && index.has(call, ops::kMask));
}

std::set<uint32_t> processes_with_scaler(const RunIndex& index) {
  std::set<uint32_t> processes;
  for (const OpCall& call : index.judged_calls()) {
    if (index.has(call, ops::kScalesGradients)) processes.insert(call.process);
  }
  return processes;
}

std::string operand_list(const OpCall& call) {
  std::string text;
  for (const Operand& operand : call.operands) {
    if (operand.kind == TensorKind::kUndefined) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", dtype_word(operand), operand.name);
  }
  return text;
}

void report(const OpCall& call, Findings& out) {
  const bool is_nan = call.result_nan;
  const std::string message = fmt::format("{} gave the first {} of the run, from finite operands",
                                          call.op, is_nan ? "NaN" : "infinity");
  out.add(call, message, [&] {
    const bool is_half = call.result_dtype() == Dtype::kHalf;
    return Details{
        .why = fmt::format(
            "its operands were finite: {}{}", operand_list(call),
            is_half ? "; Half ends at 65504, and a sum or product beyond that is infinite" : ""),
        .fix = is_half
                   ? "compute this part in Float or BFloat16"
                   : "look at the values that go in: a division by 0, the log of 0 or the root of "
                     "a negative number",
        .severity = is_nan ? Severity::kError : Severity::kWarning};
  });
}

void check_run(const RunIndex& index, Findings& out) {
  const std::set<uint32_t> scaled = processes_with_scaler(index);
  std::map<uint32_t, First> processes;
  for (const OpCall& call : index.judged_calls()) {
    if (!call.result_non_finite || !call.operands_were_finite) continue;
    if (is_meant(index, call)) continue;
    if (call.site.phase == Phase::kBackward && scaled.contains(call.process)) continue;
    First& first = processes[call.process];
    const OpCall*& place = call.result_nan ? first.nan : first.inf;
    if (is_earlier(call, place)) place = &call;
  }
  for (const auto& [process, first] : processes) {
    if (first.inf != nullptr && is_earlier(*first.inf, first.nan)) report(*first.inf, out);
    if (first.nan != nullptr) report(*first.nan, out);
  }
}

}  // namespace

const Rule first_non_finite = {
    .doc = {.id = "first-non-finite",
            .severity = Severity::kError,
            .summary = "the first op whose result has NaN or infinity while its operands had none",
            .why = "From here on every result that depends on it is lost; what is reported later, "
                   "a NaN loss, "
                   "is only where it was noticed.",
            .fix = "Compute this part in Float or BFloat16, or keep its input away from 0 and from "
                   "the end of "
                   "the dtype's range.",
            .example = R"(
op aten::mul self=Half[1,512,64,64] other=Half[1,512,64,64] -> Half[1,512,64,64] non-finite inf clean at vae.py:20 phase forward
# EXPECT vae.py:20: warning: aten::mul gave the first infinity of the run, from finite operands [first-non-finite]
op aten::sub self=Half[1,512,64,64] other=Half[1,512,64,64] -> Half[1,512,64,64] non-finite nan at vae.py:21 phase forward
# A mask's -inf is meant.
op aten::masked_fill self=Float[77,77] mask=Bool[77,77] value:=-inf -> Float[77,77] non-finite inf clean at clip.py:9 phase forward
)"},
    .check_run = check_run,
};

}  // namespace dtypecheck::rules
