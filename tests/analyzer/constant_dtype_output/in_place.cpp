// Cast to the dispatched dtype before the pointer is taken, or read as what it was made.
#include <torch/extension.h>

template <typename T>
void run(const T* x, T* out, float* sums);

void norm(at::Tensor x) {
  at::Tensor sums = at::zeros({4}, at::kFloat);
  at::Tensor out = at::zeros({4}).to(x.scalar_type());
  at::Tensor wrong = at::zeros({4});
  // EXPECT error: wrong is made Float, and read as the dtype of x [constant-dtype-output]
  at::Tensor old = at::zeros({4}, torch::CPU(at::kFloat));
  // EXPECT error: old is made Float, and read as the dtype of x [constant-dtype-output]
  at::Tensor same = at::zeros({4}, torch::CPU(x.scalar_type()));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "norm", [&] {
    run(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), sums.data_ptr<float>());
    run(x.data_ptr<scalar_t>(), wrong.data_ptr<scalar_t>(), sums.data_ptr<float>());
    run(same.data_ptr<scalar_t>(), old.data_ptr<scalar_t>(), sums.data_ptr<float>());
  });
}
