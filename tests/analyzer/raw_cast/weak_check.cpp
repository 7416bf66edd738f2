// A check that admits more than the pointer, one that contradicts it, and one that fits.
#include <cuda_fp16.h>
#include <torch/extension.h>

void run(const __half* x);

void admits_more(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kHalf || x.scalar_type() == at::kBFloat16);
  run(reinterpret_cast<const __half*>(x.data_ptr()));
  // EXPECT warning: x may be Half or BFloat16 here and is read as __half [raw-cast]
}

void contradicts(at::Tensor x) {
  x = x.to(torch::kFloat);
  run(reinterpret_cast<const __half*>(x.data_ptr()));
  // EXPECT error: x is Float here and is read as __half [raw-cast]
}

void fits(at::Tensor x) {
  x = x.contiguous().to(torch::kHalf);
  run(reinterpret_cast<const __half*>(x.data_ptr()));
}
