// The pointers stand in a function template that each case calls.
#include <torch/extension.h>

template <typename T>
void run(const T* x, const T* weight);

template <typename T>
void launch(const at::Tensor& x, const at::Tensor& weight) {
  run(x.data_ptr<T>(), weight.data_ptr<T>());
  // EXPECT warning: weight is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
}

template <typename T>
void launch_cast(const at::Tensor& x, const at::Tensor& weight) {
  run(x.data_ptr<T>(), weight.data_ptr<T>());
}

void norm(at::Tensor x, at::Tensor weight) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "norm",
                                  [&] { launch<scalar_t>(x, weight); });
}

void norm_cast(at::Tensor x, at::Tensor weight) {
  const at::Tensor same = weight.to(x.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "norm",
                                  [&] { launch_cast<scalar_t>(x, same); });
}
