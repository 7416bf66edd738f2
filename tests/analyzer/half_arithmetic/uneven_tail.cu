// The tail rounds after each step what the loop rounds once; where both do alike, all is well.
#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void uneven(const __half* x, const __half* w, __half* out, int n) {
  int i = 0;
  for (; i + 2 <= n; i += 2) {
    out[i] = __float2half(__half2float(x[i]) * __half2float(w[i]) + 1.0f);
    out[i + 1] = __float2half(__half2float(x[i + 1]) * __half2float(w[i + 1]) + 1.0f);
  }
  for (; i < n; ++i) {
    out[i] = __hadd(__hmul(x[i], w[i]), __float2half(1.0f));
    // EXPECT note: out is computed in Half here and in Float at line 8 [half-arithmetic]
  }
}

__global__ void even(const __half* x, const __half* w, __half* out, int n) {
  int i = 0;
  __half2* out2 = reinterpret_cast<__half2*>(out);
  const __half2* x2 = reinterpret_cast<const __half2*>(x);
  for (; i + 2 <= n; i += 2) out2[i / 2] = __hmul2(x2[i / 2], x2[i / 2]);
  for (; i < n; ++i) out[i] = __hmul(x[i], x[i]);
}
