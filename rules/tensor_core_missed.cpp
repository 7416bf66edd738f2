// Finds: a product or convolution in Half or BFloat16 whose kernel did without tensor cores, and
// the size that explains it. Needs kernels in the trace, those of a GPU.
// Misses: GPUs without tensor cores have none to miss; which one it was the trace does not say, but
// kernels of Volta and later are named so.
#include <fmt/format.h>

#include "core/dtype_set.h"
#include "rules/engine/gpu_words.h"
#include "rules/engine/rule.h"
#include "rules/kernel_names/kernel_name.h"

namespace dtypecheck::rules {
namespace {

constexpr int64_t kAligned = 8;  // elements of two bytes that are 16 bytes

// "weight [320, 4] has a size of 4, no multiple of 8"; "" where all are aligned.
std::string misaligned(const OpCall& call) {
  for (const Operand& operand : call.operands) {
    if (!operand.is_floating() || operand.shape.size() < 2) continue;
    // Of a convolution the channels count, of a product the last two sizes.
    const size_t begin = is_convolution(call) ? 0 : operand.shape.size() - 2;
    for (size_t i = begin; i < begin + 2; ++i)
      if (operand.shape[i] % kAligned != 0)
        return fmt::format("{} {} has a size of {}, no multiple of {}", operand.name,
                           shape_text(operand), operand.shape[i], kAligned);
  }
  return "";
}

void check(const OpCall& call, const RunIndex&, Findings& out) {
  const std::optional<Dtype> dtype = floating_dtype_of(call);
  if (!dtype || !kLowPrecision.contains(*dtype)) return;
  for (const GpuWork& work : call.gpu) {
    const auto kernel = gpu::read_kernel_name(work.name);
    if (!kernel || !kernel->is_product || kernel->tensor_core != false) continue;
    out.add(call, fmt::format("{} of {} does not use tensor cores", call.op, dtype_name(*dtype)),
            [&] {
              const std::string size = misaligned(call);
              return Details{.why = (size.empty() ? "" : size + "; ") + time_of(work),
                             .fix = size.empty() ? "" : "pad that size to a multiple of 8"};
            });
  }
}

}  // namespace

const Rule tensor_core_missed = {
    .doc =
        {.id = "tensor-core-missed",
         .severity = Severity::kNote,
         .summary = "a product in Half or BFloat16 ran without tensor cores",
         .why =
             "On the CUDA cores Half is no faster than Float. Kernels for tensor cores want rows "
             "of whole 16 bytes: sizes that are multiples of 8.",
         .fix = "Pad channels, features and the vocabulary to multiples of 8.",
         .example = R"(
op aten::mm self=Half[64,77]@cuda:0 mat2=Half[77,64]@cuda:0 -> Half[64,64]@cuda:0 gpu kernel 0 1 9000 0 "ampere_fp16_sgemm_fp16_64x64_sliced1x2_nn" at train.py:9
# EXPECT train.py:9: note: aten::mm of Half does not use tensor cores [tensor-core-missed]
op aten::mm self=Half[64,64]@cuda:0 mat2=Half[64,64]@cuda:0 -> Half[64,64]@cuda:0 gpu kernel 0 1 3000 0 "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn" at train.py:10
# Float has no tensor cores of its own.
op aten::mm self=Float[64,77]@cuda:0 mat2=Float[77,64]@cuda:0 -> Float[64,64]@cuda:0 gpu kernel 0 1 9000 0 "ampere_sgemm_64x64_nn" at train.py:11
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
