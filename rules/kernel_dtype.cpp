// Finds: a kernel that was compiled for Half and reads BFloat16, or the reverse: two bytes each, so
// nothing refuses, and every number is another one. Needs kernels in the trace, those of a GPU.
// Misses: kernels whose names have no dtype in them, as Triton's and those of plain C.
#include <fmt/format.h>

#include <array>

#include "core/dtype_set.h"
#include "rules/engine/gpu_words.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {
namespace {

struct Spelling {
  std::string_view text;
  Dtype dtype;
};
// As template arguments stand in a name, mangled or not.
constexpr std::array<Spelling, 10> kSpellings = {{{"N3c104HalfE", Dtype::kHalf},
                                                  {"c10::Half", Dtype::kHalf},
                                                  {"I6__half", Dtype::kHalf},
                                                  {"__half", Dtype::kHalf},
                                                  {"cutlass::half_t", Dtype::kHalf},
                                                  {"N3c108BFloat16E", Dtype::kBFloat16},
                                                  {"c10::BFloat16", Dtype::kBFloat16},
                                                  {"13__nv_bfloat16", Dtype::kBFloat16},
                                                  {"__nv_bfloat16", Dtype::kBFloat16},
                                                  {"cutlass::bfloat16_t", Dtype::kBFloat16}}};

DtypeSet dtypes_in(std::string_view kernel) {
  DtypeSet found;
  for (const Spelling& spelling : kSpellings)
    if (kernel.find(spelling.text) != kernel.npos) found |= spelling.dtype;
  return found;
}

DtypeSet low_dtypes_of(const OpCall& call) {
  DtypeSet all;
  for (const auto* tensors : {&call.operands, &call.results})
    for (const Operand& tensor : *tensors) all |= tensor.dtypes;
  return all & kLowPrecision;
}

void check(const OpCall& call, const RunIndex&, Findings& out) {
  const auto reads = low_dtypes_of(call).single();
  if (!reads) return;
  for (const GpuWork& work : call.gpu) {
    const auto made_for = dtypes_in(work.name).single();
    if (!made_for || *made_for == *reads) continue;
    const std::string message = fmt::format("a kernel for {} reads {} of {}", dtype_name(*made_for),
                                            dtype_name(*reads), call.op);
    out.add(call, message, [&] {
      return Details{.why = fmt::format("no tensor of {} goes into {} or comes out, so that the "
                                        "bytes of one are taken for the other; {}",
                                        dtype_name(*made_for), call.op, time_of(work))};
    });
  }
}

}  // namespace

const Rule kernel_dtype = {
    .doc = {.id = "kernel-dtype",
            .severity = Severity::kWarning,
            .summary = "a GPU kernel was compiled for Half and reads BFloat16, or the reverse",
            .why = "Both are two bytes, so nothing refuses: 1.0 in BFloat16 is 1.875 in Half.",
            .fix = "Dispatch on the tensor's own dtype: AT_DISPATCH_FLOATING_TYPES_AND2(Half, "
                   "BFloat16, x.scalar_type(), …), and data_ptr<scalar_t>().",
            .example = R"(
op mine::scale x=BFloat16[64]@cuda:0 -> BFloat16[64]@cuda:0 gpu kernel 0 3 6000 0 "_Z12scale_kernelIN3c104HalfEEvPT_i" at train.py:9
# EXPECT train.py:9: warning: a kernel for Half reads BFloat16 of mine::scale [kernel-dtype]
op mine::scale x=Half[64]@cuda:0 -> Half[64]@cuda:0 gpu kernel 0 3 6000 0 "_Z12scale_kernelIN3c104HalfEEvPT_i" at train.py:10
# It casts: both are there.
op mine::cast x=BFloat16[64]@cuda:0 -> Half[64]@cuda:0 gpu kernel 0 3 6000 0 "_Z11cast_kernelIN3c104HalfEEvPT_i" at train.py:11
)"},
    .check = check,
};

}  // namespace dtypecheck::rules
