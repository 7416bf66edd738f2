// hexp and its like compute in Half; expf of a Half that was widened does not, nor does a root.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void softmax(const __half* x, const __half2* pairs, __half* out, __half2* out2) {
  const int i = threadIdx.x;
  out[i] = hexp(x[i]);
  // EXPECT note: hexp computes in Half: the exponent's rounding is the result's factor [half-arithmetic]
  out2[i] = h2exp(pairs[i]);
  // EXPECT note: h2exp computes in Half: the exponent's rounding is the result's factor [half-arithmetic]
  out[i + 1] = __float2half(expf(__half2float(x[i])));
  out[i + 2] = hsqrt(x[i]);
}
