// LibTorch instantiates data_ptr<T>() for int64_t, which is long on Linux; a pointer may be cast to long long.
#include <torch/torch.h>

int64_t first(torch::Tensor x) {
  TORCH_CHECK(x.scalar_type() == torch::kLong);
  const long long a = *x.data_ptr<long long>();
  // EXPECT warning: x is read as long long, which is no type of a dtype on Linux; Long tensors are int64_t [long-for-int64]
  const long long b = *x.data_ptr<int64_t>();
  const long long c = *static_cast<long long*>(x.data_ptr());
  return a + b + c;
}
