// A dispatch that is given nothing but a dtype that it leaves out throws at each call.
#include <torch/extension.h>

template <typename T>
void run(T* x);
void step(std::vector<at::Tensor> params);

void constant(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(at::ScalarType::BFloat16, "constant", [&] { step({x}); });
  // EXPECT error: this dispatch is always given BFloat16, and has no case for it [dispatch-missing-half]
}

void checked(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kHalf, "x must be Half");
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "checked", [&] { run(x.data_ptr<scalar_t>()); });
  // EXPECT error: this dispatch is always given Half, and has no case for it [dispatch-missing-half]
}

void with_a_case(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, at::ScalarType::BFloat16, "with_a_case", [&] { step({x}); });
}

void of_floats(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(at::ScalarType::Float, "of_floats", [&] { step({x}); });
}
