// Finds: a product or convolution in Half or BFloat16 whose kernel did without tensor cores, and
// the size that explains it. Needs kernels in the trace (trace --gpu).
// Misses: GPUs without tensor cores have none to miss; which one it was the trace does not say, but
// kernels of Volta and later are named so.
#include <fmt/format.h>

#include "core/dtype_set.h"
#include "gpu/kernel_name.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {
namespace {

constexpr int64_t kAligned = 8;  // elements of two bytes that are 16 bytes

std::optional<Dtype> low_dtype_of(const OpCall& call) {
  DtypeSet all;
  for (const Operand& operand : call.operands)
    if (operand.is_floating()) all |= operand.dtypes;
  const std::optional<Dtype> dtype = all.single();
  return dtype && kLowPrecision.contains(*dtype) ? dtype : std::nullopt;
}

// "weight [320, 4] has a size of 4, no multiple of 8"; "" where all are aligned.
std::string misaligned(const OpCall& call) {
  const bool is_convolution = call.op.find("conv") != std::string::npos;
  for (const Operand& operand : call.operands) {
    if (!operand.is_floating() || operand.shape.size() < 2) continue;
    // Of a convolution the channels count, of a product the last two sizes.
    const size_t begin = is_convolution ? 0 : operand.shape.size() - 2;
    for (size_t i = begin; i < begin + 2; ++i)
      if (operand.shape[i] % kAligned != 0)
        return fmt::format("{} {} has a size of {}, no multiple of {}", operand.name,
                           shape_text(operand), operand.shape[i], kAligned);
  }
  return "";
}

void check(const OpCall& call, const RunIndex&, Findings& out) {
  const std::optional<Dtype> dtype = low_dtype_of(call);
  if (!dtype) return;
  for (const GpuWork& work : call.gpu) {
    const auto kernel = gpu::read_kernel_name(work.name);
    if (!kernel || !kernel->is_product || kernel->tensor_core != false) continue;
    out.add(call, fmt::format("{} of {} does without tensor cores", call.op, dtype_name(*dtype)),
            [&] {
              const std::string size = misaligned(call);
              return Details{
                  .why = fmt::format("{}{} took {:.3f} ms of the GPU in {} launch{}",
                                     size.empty() ? "" : size + "; ", work.name, work.time_ns / 1e6,
                                     work.count, work.count == 1 ? "" : "es"),
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
# EXPECT train.py:9: note: aten::mm of Half does without tensor cores [tensor-core-missed]
op aten::mm self=Half[64,64]@cuda:0 mat2=Half[64,64]@cuda:0 -> Half[64,64]@cuda:0 gpu kernel 0 1 3000 0 "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_32x5_tn" at train.py:10
# Float has no tensor cores of its own.
op aten::mm self=Float[64,77]@cuda:0 mat2=Float[77,64]@cuda:0 -> Float[64,64]@cuda:0 gpu kernel 0 1 9000 0 "ampere_sgemm_64x64_nn" at train.py:11
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
