// Finds: a kernel on a GPU whose arithmetic is below what the dtypes of its op say: Float that is
// multiplied in TF32 or Half, Half and BFloat16 that are summed up in themselves. Needs kernels in
// the trace, those of a GPU.
// Misses: kernels whose names say nothing, as Triton's.
#include <fmt/format.h>

#include <algorithm>

#include "core/dtype_set.h"
#include "rules/engine/gpu_words.h"
#include "rules/engine/rounding.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/kernel_names/kernel_name.h"

namespace dtypecheck::rules {
namespace {

// Switches are cuBLAS' and cuDNN's, which multiply two operands.
std::string switches_of(const OpCall& call, Dtype dtype) {
  const auto operands = std::count_if(call.operands.begin(), call.operands.end(),
                                      [](const Operand& operand) { return operand.is_floating(); });
  // What autocast computes by dtype=torch.float has a gradient in the dtype of what it was given.
  if (operands < 2)
    return call.site.phase == Phase::kBackward
               ? "no switch changes that: give the op Float, by .float(), for its gradient is "
                 "summed "
                 "up in the dtype of what it is given"
               : "no switch changes that: compute it in Float, by dtype=torch.float";
  if (dtype == Dtype::kFloat)
    return is_convolution(call)
               ? "torch.backends.cudnn.allow_tf32 = False, which is True from the start"
               : "torch.set_float32_matmul_precision(\"highest\")";
  return fmt::format("torch.backends.cuda.matmul.allow_{}_reduced_precision_reduction = False{}",
                     dtype == Dtype::kHalf ? "fp16" : "bf16",
                     dtype == Dtype::kHalf
                         ? ", and torch.backends.cuda.matmul.allow_fp16_accumulation = False"
                         : "");
}

// Of as many equal numbers a running sum may leave out a quarter of the last one; fewer lose no
// more than other arithmetic in that dtype does. An op adds up no more than its longest dimension.
bool is_long_sum(const OpCall& call, Dtype dtype) {
  const FloatFormat format = dtype == Dtype::kHalf ? kHalfFormat : kBFloat16Format;
  const int64_t length = int64_t{1} << (format.digits - 2);
  return std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
    return !operand.has_shape || operand.shape.empty() ||
           *std::max_element(operand.shape.begin(), operand.shape.end()) >= length;
  });
}

void report(const OpCall& call, Dtype dtype, const GpuWork& work, const std::string& what,
            Severity severity, const char* consequence, Findings& out) {
  out.add(call, fmt::format("{} of {} is {}", call.op, dtype_name(dtype), what), [&] {
    return Details{.why = fmt::format("{}; {}", consequence, time_of(work)),
                   .fix = switches_of(call, dtype),
                   .severity = severity};
  });
}

void check_kernel(const OpCall& call, const RunIndex& index, Dtype dtype, const GpuWork& work,
                  Findings& out) {
  const auto kernel = gpu::read_kernel_name(work.name);
  if (!kernel) return;
  if (dtype == Dtype::kFloat && kernel->is_tf32) {
    report(call, dtype, work, "multiplied in TF32", Severity::kNote,
           "TF32 keeps 10 of Float's 23 bits of mantissa", out);
  } else if (dtype == Dtype::kFloat && kernel->math && kLowPrecision.contains(*kernel->math)) {
    report(call, dtype, work, fmt::format("multiplied in {}", dtype_name(*kernel->math)),
           Severity::kWarning, "its operands lose what the lower dtype cannot hold", out);
  } else if (kLowPrecision.contains(dtype) && kernel->sum == dtype && !kernel->is_product &&
             index.has(call, ops::kMultiplies)) {
    // LibTorch lets a product be split so from the start.
    report(call, dtype, work,
           fmt::format("summed up in parts that are kept in {}", dtype_name(dtype)),
           Severity::kNote, "each of a few parts is rounded once", out);
  } else if (kLowPrecision.contains(dtype) && kernel->sum == dtype &&
             (kernel->is_product || is_long_sum(call, dtype))) {
    report(call, dtype, work, fmt::format("summed up in {}", dtype_name(dtype)), Severity::kWarning,
           dtype == Dtype::kHalf
               ? "a long sum loses its small addends, and is infinite beyond 65504"
               : "a long sum loses its small addends",
           out);
  }
}

void check(const OpCall& call, const RunIndex& index, Findings& out) {
  if (call.gpu.empty() || index.has(call, ops::kCast)) return;
  const std::optional<Dtype> dtype = floating_dtype_of(call);
  if (!dtype) return;
  for (const GpuWork& work : call.gpu) check_kernel(call, index, *dtype, work, out);
}

}  // namespace

const Rule precision_downgrade = {
    .doc = {.id = "precision-downgrade",
            .severity = Severity::kWarning,
            .summary = "a GPU kernel computes in less than the dtypes of its op say",
            .why =
                "Float products may be cut to TF32, and Half ones be added up in Half: faster, and "
                "less exact than the dtype of the op lets expect. Only the name of the kernel that "
                "ran tells.",
            .fix = "Where it matters, switch it off: torch.set_float32_matmul_precision, "
                   "torch.backends.cudnn.allow_tf32, "
                   "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction.",
            .example = R"(
op aten::mm self=Float[64,64]@cuda:0 mat2=Float[64,64]@cuda:0 -> Float[64,64]@cuda:0 gpu kernel 0 3 60000 0 "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x64x16_stage4_warpsize2x2x1_tensor16x8x8_kernel" at train.py:9
# EXPECT train.py:9: note: aten::mm of Float is multiplied in TF32 [precision-downgrade]
op aten::mm self=Half[64,64]@cuda:0 mat2=Half[64,64]@cuda:0 -> Half[64,64]@cuda:0 gpu kernel 0 3 60000 0 "ampere_h16816gemm_128x128_ldg8_stages_32x5_nn" at train.py:10
# EXPECT train.py:10: warning: aten::mm of Half is summed up in Half [precision-downgrade]
# Half products that are summed up in Float are what Half is made for.
op aten::mm self=Half[64,64]@cuda:0 mat2=Half[64,64]@cuda:0 -> Half[64,64]@cuda:0 gpu kernel 0 3 60000 0 "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn" at train.py:11
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
