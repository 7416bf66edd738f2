// Finds: a cast to Half or to 8 bits that loses what it casts, as the tracer saw it: numbers beyond
// the end of the dtype, or numbers that become 0; a cast of complex numbers to real ones that loses
// more than rounding; and weights in 8 bits that are multiplied without their scale.
// Misses: casts on a GPU, which would have to be waited for, and those inside other ops. Silent on
// masks, whose infinities are meant, and on the few per cent of any cast to Half that become 0.
#include <fmt/format.h>

#include <algorithm>

#include "core/dtype_range.h"
#include "core/follow_links.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/losses.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr uint64_t kFewest = 16;       // numbers that were looked at, to speak of a share
constexpr double kMuchClipped = 0.25;  // of a tensor
constexpr double kGradientLost = 0.9;  // of the numbers of a gradient that are not 0
constexpr double kStateLost = 0.1;     // of what an optimizer wrote, where the program saves it
constexpr double kNearlyAll = 0.99;    // of any other tensor

bool is_eight_bits(Dtype dtype) { return dtype != Dtype::kHalf; }

std::string way_out(const OpCall& call, const RunIndex& index, Dtype dtype, bool is_clipped) {
  if (is_eight_bits(dtype))
    return "before the cast divide by a scale, the largest number of the tensor divided by that of "
           "the dtype, and store the scale with the tensor";
  if (call.site.phase == Phase::kBackward && !is_clipped && scales_losses(index, call.process))
    return "use BFloat16, which has the range of Float, or keep in Float what this is the gradient "
           "of: the loss is scaled already";
  if (call.site.phase == Phase::kBackward && !is_clipped)
    return "scale the loss by torch.amp.GradScaler, or autocast in torch.bfloat16";
  return is_clipped ? "keep it in Float or BFloat16, or divide it by its size before the cast"
                    : "keep it in Float or BFloat16, or multiply it before the cast";
}

// A weight or a moment, in a checkpoint say. What the optimizer divides by has small numbers.
bool is_of_optimizer(const OpCall& call, const RunIndex& index) {
  if (call.site.phase == Phase::kOptimizer || call.operands.empty() || call.autocast.is_inner)
    return false;
  const OpCall* maker = index.run().call(call.operands.front().origin);
  return maker != nullptr && maker->site.phase == Phase::kOptimizer;
}

// One small tensor of the many that a line casts, as the biases of a model are.
bool is_one_of_many(const RunIndex& index, const OpCall& call) {
  constexpr double kPart = 1.0 / 32;
  double all = 0;
  for (const OpCall& other : index.run().calls) {
    const bool is_there = other.cast && other.process == call.process &&
                          other.site.line == call.site.line &&
                          other.result_dtype() == call.result_dtype();
    if (is_there) all += static_cast<double>(other.cast->elements);
  }
  return static_cast<double>(call.cast->elements) < kPart * all;
}

void check_cast(const OpCall& call, const RunIndex& index, Findings& out) {
  const auto dtype = call.result_dtype();
  const DtypeRange* range = dtype ? narrow_range(*dtype) : nullptr;
  if (range == nullptr || call.cast->looked < kFewest) return;
  if (index.is_inside_cast(call)) return;
  const double looked = static_cast<double>(call.cast->looked);
  const double clipped = static_cast<double>(call.cast->clipped) / looked;
  const double flushed = static_cast<double>(call.cast->flushed) / looked;
  const bool is_gradient = call.site.phase == Phase::kBackward;
  const bool is_clipped = clipped >= kMuchClipped;
  const bool is_state = !is_gradient && is_of_optimizer(call, index);
  const double much = is_gradient ? kGradientLost : is_state ? kStateLost : kNearlyAll;
  if (!is_clipped && (flushed < much || (!is_gradient && is_one_of_many(index, call)))) return;
  const std::string name = dtype_name(*dtype);
  const std::string message =
      is_state && !is_clipped
          ? fmt::format("{:.0f} % of what an optimizer keeps becomes 0 in a cast to {}",
                        100 * flushed, name)
          : fmt::format("{:.0f} % of {} is cast to {} {}", 100 * (is_clipped ? clipped : flushed),
                        is_gradient                            ? "a gradient that"
                        : call.site.phase == Phase::kOptimizer ? "a tensor that"
                                                               : "what",
                        name, is_clipped ? "is beyond its largest number" : "becomes 0");
  out.add(call, message, [&] {
    Details details{
        .odd = call.operands.empty() ? "" : call.operands.front().name,
        .why = is_clipped
                   ? fmt::format("{} ends at {:g}; what is beyond is {}", name, range->largest,
                                 is_eight_bits(*dtype) ? "clipped to that, or NaN" : "infinite")
                   : fmt::format("the smallest number of {} is {:.2g}", name, range->smallest),
        .fix = way_out(call, index, *dtype, is_clipped)};
    if (is_gradient) details.follows = {{&grad_scaler}};
    const bool may_move = !is_gradient && !is_eight_bits(*dtype) && is_users_own(call.site);
    const CureProposer propose(index, out.options());
    if (auto cure = propose.leave_autocast_of(call)) {
      details.cures = {*std::move(cure)};
    } else if (may_move && call.operands.size() == 2) {
      details.cures = propose.widen_written(call);
    } else if (may_move) {
      add(details.cures, propose.keep_in(call, Dtype::kFloat));
    }
    details.why += fmt::format("; {} numbers other than 0 were looked at", call.cast->looked);
    return details;
  });
}

// One number, as a factor to clip by, that becomes 0 and is then multiplied by.
void check_factor(const OpCall& call, const RunIndex& index, Findings& out) {
  if (call.cast->looked == 0 || call.cast->looked >= kFewest) return;
  const bool is_number = !call.operands.empty() && call.operands.front().has_shape &&
                         call.operands.front().shape.empty();
  if (!is_number || call.cast->flushed < call.cast->looked) return;
  if (index.is_inside_cast(call)) return;
  const auto consumers = index.consumers(call);
  const bool is_factor = std::any_of(consumers.begin(), consumers.end(), [&](OpCallId id) {
    const uint32_t kArithmetic = ops::kScales | ops::kDivides;
    return index.has(*index.run().call(id), kArithmetic);
  });
  const auto dtype = call.result_dtype();
  if (!is_factor || !dtype) return;
  out.add(call, fmt::format("a factor that is cast to {} becomes 0", dtype_name(*dtype)), [&] {
    return Details{.odd = call.operands.front().name,
                   .why = fmt::format("the smallest number of {} is {:.2g}, and all that is "
                                      "multiplied by it becomes 0",
                                      dtype_name(*dtype), narrow_range(*dtype)->smallest),
                   .fix = "multiply in Float, and cast the result"};
  });
}

// 448 / amax is infinite where amax is 0, and makes NaN of it.
void check_nan(const OpCall& call, Findings& out) {
  const auto dtype = call.result_dtype();
  if (!dtype || !kFloat8.contains(*dtype) || call.first_nan() == nullptr) return;
  out.add(call, fmt::format("NaN is cast to {}", dtype_name(*dtype)), [&] {
    return Details{
        .odd = call.operands.empty() ? "" : call.operands.front().name,
        .why =
            "a scale that divides the largest number of the dtype by that of the tensor is "
            "infinite where the tensor is 0, and infinity times 0 is NaN",
        .fix = "keep the scale finite: amax.clamp(min=1e-12)"};
  });
}

bool has_factor(const OpCall& call) {
  const auto is_tensor = [](const Operand& operand) { return !operand.is_wrapped_number; };
  return (call.short_op() == "mul" || call.short_op() == "mul_" || call.short_op() == "div") &&
         std::count_if(call.operands.begin(), call.operands.end(), is_tensor) > 1;
}

// The product of what this cast gave, where nobody multiplies by a scale, before it or behind.
const OpCall* unscaled_product(const RunIndex& index, const OpCall& cast) {
  const OpCall* product = nullptr;
  for (const OpCallId id : index.consumers(cast)) {
    const OpCall& consumer = *index.run().call(id);
    if (consumer.autocast.is_wrapper) continue;
    if (has_factor(consumer)) return nullptr;
    if (product == nullptr && index.has(consumer, ops::kMultiplies)) product = &consumer;
  }
  if (product == nullptr) return nullptr;
  bool is_scaled = false;
  follow_links(product, [&](const OpCall& made) -> const OpCall* {  // mm, and the matmul around it
    for (const OpCallId id : index.consumers(made))
      is_scaled = is_scaled || has_factor(*index.run().call(id));
    const OpCall* outer = index.run().call(made.parent);
    return outer != nullptr && outer->site.line == product->site.line ? outer : nullptr;
  });
  return is_scaled ? nullptr : product;
}

// Weights in 8 bits that reach the end of the dtype were divided by a scale.
void check_unscaled(const OpCall& call, const RunIndex& index, Findings& out) {
  if (call.operands.empty() || !call.operands.front().dtypes.within(kFloat8)) return;
  const OpCall* product = unscaled_product(index, call);
  const auto wide = call.result_dtype();
  if (product == nullptr || !wide) return;
  const std::string name = dtype_word(call.operands.front());
  const std::string message = fmt::format("{} that reaches {} is multiplied without a scale", name,
                                          number(call.inexact->from));
  out.add(call, message, [&] {
    return Details{.odd = call.operands.front().name,
                   .why = fmt::format(
                       "numbers that fill the range of {} were divided by a scale to fit it; cast "
                       "to {} without that scale they enter {}{}, too large by that factor",
                       name, dtype_name(*wide), product->op, at_place(product->site)),
                   .fix =
                       "after the cast multiply it by its scale, which checkpoints store beside it "
                       "(weight_scale, weight_scale_inv)"};
  });
}

// A tensor of real numbers that complex ones are written to was made without a dtype.
void check_imaginary(const OpCall& call, const RunIndex& index, Findings& out) {
  const auto dtype = call.result_dtype();
  const auto from = call.operands.empty() ? std::nullopt : call.operands.back().dtypes.single();
  if (!dtype || !from || !kComplex.contains(*from) || kComplex.contains(*dtype)) return;
  const std::string message =
      fmt::format("the imaginary part, up to {:.4g}, is lost in a cast to {}", call.inexact->from,
                  dtype_name(*dtype));
  out.add(call, message, [&] {
    return Details{
        .odd = call.operands.front().name,
        .why = fmt::format("{} holds real numbers: only the real part of {} is kept, and "
                           "PyTorch warns at most once",
                           dtype_name(*dtype), dtype_name(*from)),
        .fix = "keep it complex, or take .real where that part alone is meant",
        .cures = CureProposer(index, out.options()).widen_written(call)};
  });
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (call.inexact && index.has(call, ops::kCast)) {
    check_unscaled(call, index, out);
    check_imaginary(call, index, out);
  }
  if (call.cast) check_cast(call, index, out);
  if (call.cast && call.result_dtype() && narrow_range(*call.result_dtype()) != nullptr)
    check_factor(call, index, out);
  if (call.cast) check_nan(call, out);
}

}  // namespace

const Rule lossy_cast = {
    .doc = {.id = "lossy-cast",
            .severity = Severity::kWarning,
            .summary = "a cast to a narrow dtype loses much of what it casts",
            .why = "Half ends at 65504 and begins at 6e-8, 8-bit formats at 448 or 57344: what is "
                   "beyond becomes infinite or is clipped, what is smaller becomes 0, and nothing "
                   "says so. The tracer looks at some numbers of some casts on the CPU.",
            .fix = "Scale before the cast, or cast to BFloat16, which has the range of Float.",
            .example = R"(
op aten::_to_copy self=Float[64,64] dtype:=Float8_e4m3fn -> Float8_e4m3fn[64,64] cast 4096 0 0 looked 4096 2048 0 at train.py:20 phase forward
# EXPECT train.py:20: warning: 50 % of what is cast to Float8_e4m3fn is beyond its largest number [lossy-cast]
# EXPECT-FIX divide by a scale
op aten::_to_copy self=Float[64,64] dtype:=Half -> Half[64,64] cast 4096 0 0 looked 4096 3 100 at train.py:21 phase forward
op aten::_to_copy self=Float[64,64] dtype:=Half -> Half[64,64] cast 4096 0 0 looked 4096 2048 0 at train.py:22 phase forward
# EXPECT train.py:22: warning: 50 % of what is cast to Half is beyond its largest number [lossy-cast]
# EXPECT-FIX keep it in Float from there on, and cast what is computed of it, train.py:22
op aten::zeros dtype:=Float -> Float[8,8] at solver.py:30 phase load
op aten::copy_ self=Float[8,8]<#4 src=ComplexDouble[8,8] -> Float[8,8] inexact 3.25 0 at solver.py:31 phase load
# EXPECT solver.py:31: warning: the imaginary part, up to 3.25, is lost in a cast to Float [lossy-cast]
# EXPECT-FIX make the tensor that it is copied to in ComplexDouble, solver.py:30
op aten::empty.memory_format dtype:=Half -> Half[64,64] at adam.py:8 phase optimizer
op aten::copy_ self=Half[64,64]<#6!out src=BFloat16[64,64] -> Half[64,64] cast 4096 0 0 looked 4096 0 4096 at adam.py:9 phase optimizer
# EXPECT adam.py:9: warning: 100 % of a tensor that is cast to Half becomes 0 [lossy-cast]
# EXPECT-FIX make the tensor that it is copied to in BFloat16, adam.py:8
# A checkpoint of the moments, in Half, and one of weights, of which a few are small.
op aten::addcmul_ self=Float[64,64]!out tensor1=Float[64,64] tensor2=Float[64,64] -> Float[64,64] at train.py:30 phase optimizer step 1-9
op aten::_to_copy self=Float[64,64]<#8 dtype:=Half -> Half[64,64] cast 4096 0 0 looked 4096 0 1400 at save.py:2 phase forward step 9
# EXPECT save.py:2: warning: 34 % of what an optimizer keeps becomes 0 in a cast to Half [lossy-cast]
op aten::_to_copy self=Float[64,64]<#8 dtype:=Half -> Half[64,64] cast 4096 0 0 looked 4096 0 100 at save.py:3 phase forward step 9
# Codes in 8 bits, whose scale the product is multiplied by.
op aten::_to_copy self=Float8_e4m3fn[8,8] dtype:=Half -> Half[8,8] inexact 448 448 at fp8.py:3 mm phase forward
op aten::matmul self=Half[4,8] other=Half[8,8]<#12 -> Half[4,8] at fp8.py:4 mm phase forward
op aten::mm self=Half[4,8] mat2=Half[8,8]<#12 -> Half[4,8] at fp8.py:4 mm phase forward parent #13
op aten::mul self=Half[4,8]<#13 other=Half[1,8] -> Half[4,8] at fp8.py:4 mm phase forward
# What two transforms leave of a real number is 0 but for rounding.
op aten::copy_ self=Float[8,8]<#4 src=ComplexDouble[8,8] -> Float[8,8] at solver.py:32 phase load
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
