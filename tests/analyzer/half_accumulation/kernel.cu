// A kernel's running sum and its atomic adds; the same kernel that nothing makes of Half is silent.
#include <cuda_fp16.h>
#include <torch/extension.h>

__device__ void atomicAdd(at::Half* to, at::Half value);  // as ATen/cuda/Atomic.cuh has

template <typename T>
__global__ void dot(const T* a, const T* b, T* out, int n) {
  T sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum = sum + a[i] * b[i];
  // EXPECT warning: sum sums up in Half [half-accumulation]
  atomicAdd(out, sum);
  // EXPECT note: out is added to atomically in Half [half-accumulation]
}

template <typename T>
__global__ void dot_wide(const T* a, const T* b, float* out, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i] * b[i];
  atomicAdd(out, sum);
}

template <typename T>
__global__ void only_float(const T* a, T* out, int n) {
  T sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i];
  atomicAdd(out, sum);
}

__global__ void by_intrinsics(const __half* a, __half* out, int n) {
  __half sum = a[0];
  for (int i = 1; i < n; ++i) sum = __hadd(sum, a[i]);
  // EXPECT warning: sum sums up in Half [half-accumulation]
  out[0] = sum;
}

void launch(at::Tensor a, at::Tensor b, at::Tensor out, at::Tensor wide) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type() && a.scalar_type() == out.scalar_type());
  TORCH_CHECK(wide.scalar_type() == at::kFloat);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "dot", [&] {
    dot_wide<scalar_t><<<1, 32>>>(a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(), wide.data_ptr<float>(), 8);
  });
  TORCH_CHECK(a.scalar_type() == at::kHalf);
  dot<at::Half><<<1, 32>>>(a.data_ptr<at::Half>(), b.data_ptr<at::Half>(), out.data_ptr<at::Half>(), 8);
  only_float<float><<<1, 32>>>(wide.data_ptr<float>(), wide.data_ptr<float>(), 8);
}
