// By value between the two half types; pointers and a way that is named are silent.
#include <cuda_fp16.h>
#include <torch/extension.h>

__device__ __half to_cuda(const at::Half value) {
  return (__half)value;
  // EXPECT note: c10::Half is cast to __half, which newer CUDA headers convert in two ways [ambiguous-half-conversion]
}

__device__ __half by_float(const at::Half value) { return __float2half(static_cast<float>(value)); }

__half* pointer(at::Half* value) { return reinterpret_cast<__half*>(value); }
