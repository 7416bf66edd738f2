// A Double that is rounded is a note; a tensor of a dtype that nobody knows is converted.
#include <torch/extension.h>

float loss(at::Tensor x) {
  const at::Tensor wide = x.to(at::kDouble);
  const float rounded = wide.item<float>();
  // EXPECT note: wide is Double, and item<float>() rounds it [scalar-item]
  const double exact = wide.item<double>();
  return rounded + exact + x.item<float>();
}
