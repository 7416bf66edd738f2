// A tile of sums that a long loop adds to, in short loops that are written out; and the lanes of a
// warp. A vector of elements is no sum, nor is what each round sets anew.
#undef __CUDA_NO_HALF_OPERATORS__  // as many a setup.py does: torch defines it
#include <cuda_fp16.h>

__global__ void tile(const half2* a, const half2* b, half2* out, int steps) {
  half2 sums[4], wide[4];
  for (int k = 0; k < steps; ++k) {
    for (int i = 0; i < 4; ++i) sums[i] = __hfma2(a[k], b[4 * k + i], sums[i]);
    // EXPECT warning: sums[i] sums up in Half [half-accumulation]
  }
  for (int i = 0; i < 4; ++i) wide[i] = __hadd2(wide[i], a[i]);
  for (int i = 3; i >= 0; --i) wide[i] = __hadd2(wide[i], b[i]);
  out[0] = __hadd2(sums[0], wide[0]);
}

__global__ void shift(half2* x, half2 by, int n) {
  half2 pair;
  for (int i = 0; i < n; ++i) {
    pair = x[i];
    pair = __hadd2(pair, by);
    x[i] = pair;
  }
}

template <typename T>
__device__ T of_warp(T value) {
  for (int lanes = 16; lanes > 0; lanes /= 2) value = value + __shfl_down_sync(0xffffffff, value, lanes);
  // EXPECT warning: value sums up in Half [half-accumulation]
  return value;
}

__global__ void lanes(const __half* a, __half* out, float* wide) {
  out[0] = of_warp(a[threadIdx.x]);
  wide[0] = of_warp(__half2float(a[threadIdx.x]));
}
