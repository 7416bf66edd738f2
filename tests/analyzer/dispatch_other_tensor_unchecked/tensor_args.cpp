// ATen's checks take TensorArgs: those of types compare dtypes, those of devices do not.
#include <ATen/TensorUtils.h>
#include <torch/extension.h>

void same_type(const at::Tensor& x, const at::Tensor& weight) {
  at::TensorArg x_arg{x, "x", 1}, weight_arg{weight, "weight", 2};
  at::CheckedFrom c = "same_type";
  at::checkAllSameType(c, {x_arg, weight_arg});
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "same_type", [&] {
    x.contiguous().data_ptr<scalar_t>();
    weight.contiguous().data_ptr<scalar_t>();
  });
}

void pair(const at::Tensor& x, const at::Tensor& weight) {
  at::checkSameType("pair", at::TensorArg(x, "x", 1), at::TensorArg(weight, "weight", 2));
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "pair", [&] {
    x.data_ptr<scalar_t>();
    weight.data_ptr<scalar_t>();
  });
}

void same_device(const at::Tensor& x, const at::Tensor& weight) {
  at::TensorArg x_arg{x, "x", 1}, weight_arg{weight, "weight", 2};
  at::checkAllSameGPU("same_device", {x_arg, weight_arg});
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "same_device", [&] {
    x.data_ptr<scalar_t>();
    weight.data_ptr<scalar_t>();
    // EXPECT warning: weight is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
  });
}

void another_pair(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  at::TensorArg x_arg{x, "x", 1}, weight_arg{weight, "weight", 2};
  at::checkSameType("another_pair", x_arg, weight_arg);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "another_pair", [&] {
    x.data_ptr<scalar_t>();
    weight.data_ptr<scalar_t>();
    bias.data_ptr<scalar_t>();
    // EXPECT warning: bias is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
  });
}

void fixed(const at::Tensor& x) {
  at::checkScalarType("fixed", at::TensorArg(x, "x", 1), at::kFloat);
  x.data_ptr<float>();
}
