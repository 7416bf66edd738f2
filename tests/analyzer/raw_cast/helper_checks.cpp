// Checks that stand in a function, over a list, in a macro, behind an early throw.
#include <stdexcept>

#include <cuda_fp16.h>
#include <torch/extension.h>

#define CHECK_DTYPE(x, name) TORCH_CHECK((x).dtype() == torch::name, #x " must be " #name)
#define CHECK_CUDA(x) TORCH_CHECK((x).is_cuda(), #x " must be on the GPU")

void run(const __half* x);

static void all_half(std::initializer_list<at::Tensor> tensors) {
  for (const at::Tensor& tensor : tensors) TORCH_CHECK(tensor.scalar_type() == at::kHalf);
}

static void same(const at::Tensor& a, const at::Tensor& b) {
  if (a.scalar_type() != b.scalar_type()) throw std::runtime_error("dtypes differ");
}

void by_macro(at::Tensor x) {
  CHECK_DTYPE(x, kHalf);
  run((__half*)x.data_ptr());
}

void by_list(at::Tensor x, at::Tensor y) {
  all_half({x, y});
  run((__half*)x.data_ptr());
  run((__half*)y.data_ptr());
}

void by_chain(at::Tensor x, at::Tensor y) {
  CHECK_DTYPE(x, kHalf);
  same(x, y);
  run((__half*)y.data_ptr());
}

void by_early_throw(at::Tensor x) {
  if (x.dtype() != at::kHalf) throw std::runtime_error("x must be Half");
  run((__half*)x.data_ptr());
}

void by_branch(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) run((__half*)x.data_ptr());
}

void by_placeholder(at::Tensor x) {
  TORCH_CHECK(x.numel() == 0 || x.scalar_type() == at::kHalf);
  run((__half*)x.data_ptr());
}

void by_another_check(at::Tensor x) {
  CHECK_CUDA(x);
  run((__half*)x.data_ptr());
  // EXPECT warning: x is cast to __half from an untyped pointer, and nothing compares the dtype [raw-cast]
}

void of_another_branch(at::Tensor x, bool fast) {
  if (fast) CHECK_DTYPE(x, kHalf);
  run((__half*)x.data_ptr());
  // EXPECT warning: x is cast to __half from an untyped pointer, and nothing compares the dtype [raw-cast]
}
