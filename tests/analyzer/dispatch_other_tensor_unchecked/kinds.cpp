// A check that both are floating does not say that they are alike.
#include <torch/extension.h>

#define CHECK_FLOATING(x) \
  TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kHalf, #x " must be floating")

template <typename T>
void run(const T* x, const T* weight);

void encode(at::Tensor x, at::Tensor weight) {
  CHECK_FLOATING(x);
  CHECK_FLOATING(weight);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "encode", [&] {
    run(x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>());
    // EXPECT warning: weight is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
  });
}

void encode_float(at::Tensor x, at::Tensor weight) {
  CHECK_FLOATING(x);
  TORCH_CHECK(x.scalar_type() == weight.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "encode", [&] {
    run(x.data_ptr<scalar_t>(), weight.data_ptr<scalar_t>());
  });
}
