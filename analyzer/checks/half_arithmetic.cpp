// Finds, in kernels: exponentials in Half or BFloat16, values that are rounded to them and used as
// Float only, literals of double in a kernel for Half, and a tail that computes in Half what its
// loop computes in Float. Misses: host code; a chain through memory. Notes: someone may want the
// rounding.
#include <fmt/format.h>

#include "analyzer/check.h"

namespace dtypecheck::analyzer {

static std::string message_of(const HalfArithmetic& one) {
  const std::string dtypes = dtypes_text(one.dtypes);
  switch (one.fault) {
    case HalfFault::kExponential:
      return fmt::format("{} computes in {}: the exponent's rounding is the result's factor",
                         one.text, dtypes);
    case HalfFault::kCastChain:
      return fmt::format("{} is rounded to {} and used as Float only", one.text, dtypes);
    case HalfFault::kDoubleLiteral:
      return fmt::format("{} is a double: whatever it is combined with is computed in double",
                         one.text);
    case HalfFault::kUnevenTail:
      return fmt::format("{} is computed in {} here and in Float at line {}", one.text, dtypes,
                         one.other.line);
  }
  return "";
}

static void check(const SourceFacts& facts, CheckFindings& out) {
  for (const HalfArithmetic& one : facts.half_arithmetic) {
    out.add(half_arithmetic, Severity::kNote, one.place, one.function, message_of(one));
  }
}

extern const Check half_arithmetic = {
    .doc = {.id = "half-arithmetic",
            .severity = Severity::kNote,
            .summary = "a kernel computes in Half, or in double, what belongs in Float",
            .why = "Half has 11 bits: an exponent rounded to them makes the result wrong by up to "
                   "half a percent, a cast to and fro loses what Float had, and a tail that rounds "
                   "otherwise than its loop makes results depend on the size. Double arithmetic "
                   "costs 32 to 64 times as much as Float on most GPUs.",
            .fix =
                "Convert once after loading, compute in Float (expf, 0.5f), and round once before "
                "storing, in the loop and in its tail alike.",
            .example = R"(#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void silu(const __half* x, __half* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half power = hexp(__hneg(x[i]));
  // EXPECT note: hexp computes in Half: the exponent's rounding is the result's factor [half-arithmetic]
  const float value = __half2float(x[i]);
  out[i] = __float2half(value / (1.0f + expf(-value)) + __half2float(power));
}
)"},
    .check = check,
    .scope = Scope::kFunction,
};

}  // namespace dtypecheck::analyzer
