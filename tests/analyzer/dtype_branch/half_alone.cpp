// A dtype to compute in that is chosen for Half alone: BFloat16 goes on as it is.
#include <torch/extension.h>

at::Tensor sum(at::Tensor x) {
  const auto wide = x.scalar_type() == at::kHalf ? at::kFloat : x.scalar_type();
  // EXPECT warning: x becomes Float where it is Half, and stays BFloat16 where it is that [dtype-branch]
  return x.to(wide);
}

at::Tensor softmax(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    // EXPECT warning: x becomes Float where it is Half, and stays BFloat16 where it is that [dtype-branch]
    x = x.to(at::kFloat);
  }
  return x.softmax(-1);
}

at::Tensor both(at::Tensor x) {
  auto wide = x.scalar_type();
  if (wide == at::kHalf) wide = at::kFloat;
  if (wide == at::kBFloat16) wide = at::kFloat;
  return x.to(wide);
}

at::Tensor never_bfloat16(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kHalf || x.scalar_type() == at::kFloat);
  return x.to(x.scalar_type() == at::kHalf ? at::kFloat : x.scalar_type());
}
