// digest_kernel.h: CUDA's source of what gpu_digests.cpp launches, for NVRTC. It needs no header,
// and tests/tracer/test_digest_kernel.py compiles it for the processor as well.
//
// Each block of threads sums up elements index, index + all threads, …, in Double and in an order
// that the launch alone decides, and writes how many are finite, their sum, the sum of their
// squares, how many are 0 and the largest magnitude to out[5 * block]. The first block writes the
// elements at the places behind that of all blocks.
#pragma once

namespace dtypecheck::tracer {

constexpr char kDigestKernel[] = R"cuda(
struct Arguments {
  const void* data;
  double* out;
  long long count;
  long long sizes[8], strides[8];
  int dims;  // 0: contiguous
  int dtype;  // a number of core/dtype.h
  int places;
};

__device__ float of_half(unsigned short bits) {
  const unsigned sign = (bits & 0x8000u) << 16, exponent = (bits >> 10) & 31, mantissa = bits & 0x3ff;
  if (exponent == 0) {
    const float size = mantissa * 5.9604644775390625e-8f;
    return sign ? -size : size;
  }
  return __uint_as_float(sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | mantissa << 13);
}

__device__ double element(const Arguments& all, long long index) {
  long long at = index;
  if (all.dims > 0) {
    at = 0;
    for (int dim = all.dims - 1; dim >= 0; --dim) {
      at += index % all.sizes[dim] * all.strides[dim];
      index /= all.sizes[dim];
    }
  }
  switch (all.dtype) {
    case 1: return ((const signed char*)all.data)[at];
    case 2: return ((const short*)all.data)[at];
    case 3: return ((const int*)all.data)[at];
    case 4: return (double)((const long long*)all.data)[at];
    case 5: return of_half(((const unsigned short*)all.data)[at]);
    case 6: return ((const float*)all.data)[at];
    case 7: return ((const double*)all.data)[at];
    case 15: return __uint_as_float((unsigned)((const unsigned short*)all.data)[at] << 16);
    default: return ((const unsigned char*)all.data)[at];  // Byte and Bool
  }
}

extern "C" __global__ void digest(Arguments all) {
  __shared__ double sums[5][256];
  const int thread = threadIdx.x;
  double finite = 0, sum = 0, squares = 0, largest = 0, zeros = 0;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + thread; i < all.count; i += step) {
    const double value = element(all, i);
    if (!(value - value == 0)) continue;
    finite += 1;
    sum += value;
    squares += value * value;
    const double size = value < 0 ? -value : value;
    if (size > largest) largest = size;
    if (size == 0) zeros += 1;
  }
  sums[0][thread] = finite, sums[1][thread] = sum, sums[2][thread] = squares, sums[3][thread] = zeros, sums[4][thread] = largest;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread >= half) continue;
    for (int i = 0; i < 4; ++i) sums[i][thread] += sums[i][thread + half];
    if (sums[4][thread + half] > sums[4][thread]) sums[4][thread] = sums[4][thread + half];
  }
  __syncthreads();
  if (thread == 0)
    for (int i = 0; i < 5; ++i) all.out[5 * blockIdx.x + i] = sums[i][0];
  if (blockIdx.x == 0)
    for (int i = thread; i < all.places; i += blockDim.x)
      all.out[5 * gridDim.x + i] = element(all, (long long)((double)all.count / all.places * i));
}
)cuda";

}  // namespace dtypecheck::tracer
