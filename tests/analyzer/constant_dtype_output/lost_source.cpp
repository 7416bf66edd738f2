// Factories that lose the dtype of what the op works on: options without a dtype, a number, the
// options of another tensor. A cast to scalar_t refuses none of it.
#include <torch/extension.h>

template <typename T>
void run(const T* x, T* out);

void lost(at::Tensor x, at::Tensor w) {
  at::Tensor on_device = torch::empty({4}, x.device());
  // EXPECT error: on_device is made Float, and read as the dtype of x [constant-dtype-output]
  at::Tensor number = torch::tensor(0.5);
  // EXPECT error: number is made Float, and read as the dtype of x [constant-dtype-output]
  at::Tensor cast = torch::zeros({4});
  // EXPECT error: cast is made Float, and read as the dtype of x [constant-dtype-output]
  at::Tensor of_other = torch::zeros({4}, w.options());
  at::Tensor same = torch::zeros({4}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "lost", [&] {
    run(x.data_ptr<scalar_t>(), on_device.data_ptr<scalar_t>());
    run(x.data_ptr<scalar_t>(), number.data_ptr<scalar_t>());
    run(x.data_ptr<scalar_t>(), static_cast<scalar_t*>(cast.data_ptr()));
    run(x.data_ptr<scalar_t>(), of_other.data_ptr<scalar_t>());
    // EXPECT warning: of_other is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
    run(x.data_ptr<scalar_t>(), same.data_ptr<scalar_t>());
  });
}

void checked(at::Tensor x, at::Tensor w) {
  TORCH_CHECK(x.scalar_type() == w.scalar_type());
  at::Tensor of_other = torch::zeros({4}, w.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "checked", [&] {
    run(x.data_ptr<scalar_t>(), of_other.data_ptr<scalar_t>());
  });
}
