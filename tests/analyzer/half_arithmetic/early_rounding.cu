// What was computed in Float is rounded once, behind the last product.
#include <cuda_fp16.h>
#include <torch/extension.h>

__global__ void add(const float* x, at::Half* out, float scale, float shift, at::Half alpha) {
  const int i = threadIdx.x;
  out[i] = static_cast<at::Half>(x[i] * scale + shift) * alpha;
  // EXPECT note: x[i]*scale+shift is computed in Float and rounded to Half before it is multiplied [half-arithmetic]
  out[i] = static_cast<at::Half>((x[i] * scale + shift) * static_cast<float>(alpha));
  out[i] = static_cast<at::Half>(scale) * alpha;
}
