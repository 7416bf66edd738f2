// What is rounded to Half and then used as Float has lost digits for nothing; what is stored or given
// on as Half has not.
#include <cuda_fp16.h>
#include <torch/extension.h>

__device__ void keep(__half value);

__global__ void chain(const float* x, float* out, __half* low) {
  const int i = threadIdx.x;
  out[i] = __half2float(__float2half(x[i] * 2.0f));
  // EXPECT note: __half2float(__float2half(x[i]*2.0f)) is rounded to Half and used as Float only [half-arithmetic]
  const __half rounded = __float2half(x[i] * 3.0f);
  // EXPECT note: rounded is rounded to Half and used as Float only [half-arithmetic]
  out[i] += __half2float(rounded);
  const __half stored = __float2half(x[i]);
  low[i] = stored;
  out[i] += __half2float(stored);
  const __half given = __float2half(x[i]);
  keep(given);
}

template <typename T>
__global__ void scale(const T* x, float* out) {
  const T sum = static_cast<T>(static_cast<float>(x[0]) * 0.5f);
  // EXPECT note: sum is rounded to Half or BFloat16 and used as Float only [half-arithmetic]
  out[0] = static_cast<float>(sum);
}

void run(at::Tensor x, at::Tensor out) {
  TORCH_CHECK(out.scalar_type() == at::kFloat);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scale", [&] {
    scale<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), out.data_ptr<float>());
  });
}
