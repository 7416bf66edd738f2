// A sum in Float of products that Half rounds first; one whose factors are Float is not.
#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <torch/extension.h>

template <typename T>
__global__ void dot(const T* a, const T* b, float* out, int n) {
  float sum = 0, wide = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    sum += static_cast<float>(a[i] * b[i]);
    // EXPECT warning: a[i]*b[i] is rounded to Half or BFloat16 before it is added [half-accumulation]
    wide += static_cast<float>(a[i]) * static_cast<float>(b[i]);
  }
  out[0] = sum + wide;
}

__global__ void by_intrinsics(const __half* a, const __half* b, float* out, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += __half2float(__hmul(a[i], b[i]));
  // EXPECT warning: __hmul(a[i],b[i]) is rounded to Half before it is added [half-accumulation]
  out[0] = sum;
}

void launch(at::Tensor a, at::Tensor b, at::Tensor out) {
  TORCH_CHECK(a.scalar_type() == b.scalar_type() && out.scalar_type() == at::kFloat);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, a.scalar_type(), "dot", [&] {
    dot<<<1, 32>>>(a.data_ptr<scalar_t>(), b.data_ptr<scalar_t>(), out.data_ptr<float>(), 8);
  });
}
