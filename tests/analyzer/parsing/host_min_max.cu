// nvcc has min and max without a namespace in host code too, of mixed types as well.
#include <torch/extension.h>

inline int blocks(int64_t n) { return static_cast<int>(min(n, static_cast<int64_t>(4096))); }
inline double larger(float a, double b) { return max(a, b); }
__device__ float clamped(float x) { return min(max(x, 0.0f), 1.0f); }

__global__ void scale(float* x, int n) {
  const int i = max(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), 0);
  if (i < n) x[i] = clamped(x[i]);
}

void run(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  scale<<<blocks(x.numel()), 256>>>(x.data_ptr<float>(), static_cast<int>(x.numel()));
}
