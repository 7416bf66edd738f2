// Every way that names the element type; int64_t is never reported, nor long for anything else.
#include <torch/extension.h>

__global__ void count(at::PackedTensorAccessor32<long, 1, at::RestrictPtrTraits> wrong,
                      // EXPECT warning: PackedTensorAccessor32 of long, which has 32 bits on Windows; Long tensors are int64_t [long-for-int64]
                      at::PackedTensorAccessor32<int64_t, 1, at::RestrictPtrTraits> right) {
  wrong[0] += right[0];
}

long total(at::Tensor index) {
  TORCH_CHECK(index.scalar_type() == at::kLong);
  auto wrong = index.accessor<long, 1>();
  // EXPECT warning: index is read as long, which has 32 bits on Windows; Long tensors are int64_t [long-for-int64]
  auto right = index.accessor<int64_t, 1>();
  const long sum = wrong[0] + right[0];
  return sum + index.item<int64_t>();
}
