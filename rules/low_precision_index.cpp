// Finds: integers (time steps, sizes, positions) carried in a dtype that cannot hold them: a
// conversion that changed a value, or an arange in Half or BFloat16 that leaves its exact range.
// Misses: integers that were made in a floating dtype and only later grew too large; what comes of
// them is far-from-float's. Of more than 4096 only those that are cast to integers again are told:
// sound and pixels are rounded as any number.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/mix.h"
#include "rules/engine/rounding.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

// Beyond this an integer is a sentinel (the smallest int64 in an attention mask), not a count.
constexpr double kLargestCount = 2147483648.0;
constexpr int kMaxValues = 1 << 17;  // twice the range of Half in steps of one
constexpr double kLong = 4096;       // samples of sound and pixels are longer than time steps

double round_in(Dtype dtype, double value) {
  return dtype == Dtype::kHalf ? round_to_half(value) : round_to_bfloat16(value);
}

bool is_whole(double value) { return std::isfinite(value) && value == std::floor(value); }

std::optional<InexactValue> first_inexact(Dtype dtype, double start, double end, double step) {
  if (!is_whole(start) || !is_whole(step) || step == 0 || !std::isfinite(end)) return std::nullopt;
  for (int i = 0; i < kMaxValues; ++i) {
    const double value = start + i * step;
    if (step > 0 ? value >= end : value <= end) break;
    const double kept = round_in(dtype, value);
    if (kept != value) return InexactValue{value, kept};
  }
  return std::nullopt;
}

std::optional<double> value_of(const OpCall& call, const char* name) {
  const ScalarArgument* scalar = call.scalar(name);
  return scalar == nullptr || scalar->dtype ? std::nullopt : std::optional(scalar->value);
}

// arange(start, end, step) leaves `end` out; linspace(start, end, steps) ends with it.
std::optional<InexactValue> inexact_range(const OpCall& call, Dtype dtype) {
  const auto end = value_of(call, "end");
  if (!end) return std::nullopt;
  const double start = value_of(call, "start").value_or(0);
  if (call.short_op() == "arange") {
    return first_inexact(dtype, start, *end, value_of(call, "step").value_or(1));
  }
  const double steps = value_of(call, "steps").value_or(0);
  if (steps < 2) return std::nullopt;
  const double step = (*end - start) / (steps - 1);
  return first_inexact(dtype, start, *end + (step > 0 ? 0.5 : -0.5), step);
}

std::optional<InexactValue> inexact_value(const OpCall& call, const Run& run) {
  if (call.inexact) {
    // aten::to runs aten::_to_copy: the outer one is what the program called.
    const OpCall* outer = run.call(call.parent);
    const bool is_outer_inexact = outer != nullptr && outer->inexact.has_value();
    const double from = call.inexact->from;
    const bool is_count =
        std::fabs(from) < kLargestCount && is_whole(from) && from != call.inexact->to;
    return is_count && !is_outer_inexact ? call.inexact : std::nullopt;
  }
  const std::string op = call.short_op();
  if (op != "arange" && op != "linspace") return std::nullopt;
  const auto dtype = call.result_dtype();
  if (!dtype || !kLowPrecision.contains(*dtype)) return std::nullopt;
  return inexact_range(call, *dtype);
}

// The op that casts the integers to the dtype of another operand, or nullptr.
const OpCall* promoting(const RunIndex& index, const OpCall& cast) {
  const OpCall* outer = index.run().call(cast.parent);
  if (outer == nullptr || cast.operands.empty() || index.has(*outer, ops::kCast) ||
      ops::is_python(outer->op))
    return nullptr;
  const bool has_other =
      std::any_of(outer->operands.begin(), outer->operands.end(),
                  [](const Operand& operand) { return operand.dtypes.within(kLowPrecision); });
  return has_other ? outer : nullptr;
}

// That operand, where it is made or where it meets them.
std::vector<Cure> raise_met(const RunIndex& index, const CureProposer& propose,
                            const OpCall& promoting) {
  std::vector<Cure> cures;
  for (const Operand& met : promoting.operands) {
    if (!met.dtypes.within(kLowPrecision)) continue;
    const OpCall* made = index.maker_behind(met, ops::kPassesOn);
    const bool is_constant = made != nullptr && index.has(*made, ops::kFactory);
    add(cures, is_constant ? propose.cast_result(*made, Dtype::kFloat) : std::nullopt);
    add(cures, propose.cast_operand(promoting, met, Dtype::kFloat, noun_of(met)));
  }
  return cures;
}

// First what it meets, or is added to inside of an op: a table of frequencies or a counter, where
// that was lowered with its module, and the integers are cast to what it is.
std::vector<Cure> cures_of(const RunIndex& index, const JudgeOptions& options, const OpCall& call) {
  const CureProposer propose(index, options);
  const auto consumers = index.consumers(call);
  std::vector<OpCallId> readers(consumers.begin(), consumers.end());
  if (call.parent != kNoOpCall) readers.push_back(call.parent);
  std::vector<Cure> cures;
  for (const OpCallId id : readers) {
    const OpCall& reader = *index.run().call(id);
    for (const Operand& met : reader.operands) {
      const OpCall* made =
          met.origin == call.id ? nullptr : index.maker_behind(met, ops::kPassesOn);
      if (made == nullptr || !cures.empty() || made->result_dtype() != call.result_dtype())
        continue;
      add(cures, propose.keep_buffer(*made, reader));
    }
  }
  if (const OpCall* outer = promoting(index, call)) add(cures, raise_met(index, propose, *outer));
  add(cures, propose.cast_result(call, Dtype::kFloat));
  return cures;
}

// IDs that are kept in few bits and cast to integers again, to look something up: what this line
// made is, or in the same function what was chosen of it, or put in order.
bool comes_back(const RunIndex& index, const OpCall& call) {
  const auto& calls = index.judged_calls();
  return std::any_of(calls.begin(), calls.end(), [&](const OpCall& later) {
    const auto dtype = later.result_dtype();
    if (later.process != call.process || !dtype || !kIntegral.contains(*dtype) ||
        !index.has(later, ops::kCast))
      return false;
    const auto& line = call.site.line;
    const bool is_near =
        later.site.line.file == line.file && later.site.line.function == line.function;
    const auto makers = index.with_makers(later);
    const auto last =
        is_near ? makers.end() : makers.begin() + std::min<ptrdiff_t>(2, makers.size());
    return std::any_of(makers.begin() + 1, last, [&](const OpCall* made) {
      return made->site.line == line && made->result_dtype() == call.result_dtype();
    });
  });
}

// What a product of quantized numbers sums up: a scale makes it a number again.
bool is_quantized_product(const RunIndex& index, const OpCall& cast) {
  const OpCall* made =
      cast.operands.empty() ? nullptr : index.maker_behind(cast.operands.back(), ops::kPassesOn);
  return made != nullptr && index.has(*made, ops::kMultiplies);
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (call.site.phase == Phase::kBackward) return;  // a gradient counts nothing, as a loss scale
  const bool is_range = call.operands.empty() && index.has(call, ops::kFactory);
  if (!is_range && (!call.inexact || !index.has(call, ops::kCast))) return;
  const auto changed = inexact_value(call, index.run());
  if (!changed) return;
  const auto dtype = call.result_dtype();
  if (!dtype || !kLowPrecision.contains(*dtype)) return;
  const bool is_long = !call.operands.empty() && element_count(call.operands.back()) > kLong;
  if ((is_long && !comes_back(index, call)) || is_quantized_product(index, call)) return;
  const std::string name = dtype_name(*dtype);
  const std::string message =
      fmt::format("{} became {} in {}", number(changed->from), number(changed->to), name);
  const OpCall* outer = promoting(index, call);
  const OpCall& told = outer == nullptr ? call : *outer;
  out.add(told, message, [&] {
    std::vector<Cause> causes;
    for (const OpCall* made : index.with_makers(told))
      if (made != &told) causes.push_back({&low_precision_index, made->id});
    const auto odd = std::find_if(
        told.operands.begin(), told.operands.end(),
        [&](const Operand& operand) { return operand.dtypes == call.operands.back().dtypes; });
    const auto cures = cures_of(index, out.options(), call);
    return Details{
        .odd = odd == told.operands.end() ? "" : odd->name,
        .why = fmt::format("{} holds every integer only up to {}; time steps, sizes and "
                           "positions beyond that are rounded to their neighbours",
                           name, dtype == Dtype::kHalf ? 2048 : 256),
        .fix = !cures.empty() ? "" : "keep it in Float or Long until it has been embedded",
        .cures = cures,
        .follows = causes};
  });
}

}  // namespace

const Rule low_precision_index = {
    .doc = {.id = "low-precision-index",
            .severity = Severity::kWarning,
            .summary = "integers are carried in a dtype that cannot hold them",
            .why = "BFloat16 holds every integer up to 256 and Half up to 2048; a size of 1365 "
                   "becomes 1368, "
                   "time step 999 becomes 1000, and nothing says so.",
            .fix = "Keep time steps, sizes and positions in Float or Long until they are embedded, "
                   "and cast "
                   "the embedding.",
            .example = R"(
op aten::_to_copy self=Long[1,6] dtype:=BFloat16 -> BFloat16[1,6] inexact 1365 1368 at train.py:88 phase forward
# EXPECT train.py:88: warning: 1365 became 1368 in BFloat16 [low-precision-index]
# EXPECT-FIX cast the result of to() to Float, train.py:88
# Many, of which some are chosen and put in order before they look something up, and as many that are not.
op aten::where.self condition=Bool[90,90] self=Long[90,90] other=BFloat16[] -> BFloat16[90,90] at index.py:4 nearest phase forward
op aten::_to_copy self=Long[90,90] dtype:=BFloat16 -> BFloat16[90,90] inexact 257 256 at index.py:4 nearest phase forward parent #2
op aten::sort self=BFloat16[90,90]<#2 -> BFloat16[90,90] at index.py:5 nearest phase forward
op aten::_to_copy self=BFloat16[90,90]<#4 dtype:=Long -> Long[90,90] at index.py:6 nearest phase forward
# EXPECT index.py:4: warning: 257 became 256 in BFloat16 [low-precision-index]
op aten::_to_copy self=Long[90,90] dtype:=BFloat16 -> BFloat16[90,90] inexact 257 256 at pixels.py:4 prepare phase forward
op aten::sort self=BFloat16[90,90]<#6 -> BFloat16[90,90] at pixels.py:5 prepare phase forward
op aten::_to_copy self=BFloat16[90,90]<#7 dtype:=Long -> Long[90,90] at answer.py:6 answer phase forward
# The frequencies that the positions meet were lowered with their module.
op aten::_to_copy self=Float[32] dtype:=BFloat16 -> BFloat16[32] cast 32 0 0 at train.py:9 main phase load
op aten::_to_copy self=Long[768] dtype:=BFloat16 -> BFloat16[768] inexact 257 256 at rope.py:4 Rotary.forward in net.rotary (Rotary) phase forward
op aten::outer self=BFloat16[768]<#10 vec2=BFloat16[32]<#9 -> BFloat16[768,32] at rope.py:5 Rotary.forward in net.rotary (Rotary) phase forward
# EXPECT rope.py:4: warning: 257 became 256 in BFloat16 [low-precision-index]
# EXPECT-FIX keep the buffer in its dtype when its module is cast, rope.py:5
op aten::_to_copy self=Float[32,32]^^ dtype:=BFloat16 -> BFloat16[32,32] cast 1024 0 0 at train.py:9 main phase load
# A product of 8-bit integers, which a scale makes a number again.
op aten::_int_mm self=Char[6,8] mat2=Char[8,9] -> Int[6,9] at int8.py:3 matmul phase forward
op aten::_to_copy self=Int[6,9]<#13 dtype:=BFloat16 -> BFloat16[6,9] inexact -41774 -41728 at int8.py:4 matmul phase forward
# The gradient of a scaled loss, as it enters a layer in Half.
op aten::_to_copy self=Float[] dtype:=Half -> Half[] inexact 65536 inf at train.py:90 phase backward
# 1024 is a power of two.
op aten::_to_copy self=Long[1,6] dtype:=BFloat16 -> BFloat16[1,6] at train.py:89 phase forward
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
