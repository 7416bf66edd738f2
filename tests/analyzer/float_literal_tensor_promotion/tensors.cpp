// A number for a tensor whose dtype is the caller's; known dtypes that hold it are silent, and sizes
// are no values.
#include <torch/extension.h>

at::Tensor farthest(at::Tensor x) {
  at::Tensor distance = at::full({100000}, 1e38, x.options());
  // EXPECT note: x gets 1e38, and where it is Half it is above the largest Half, 65504 [float-literal-tensor-promotion]
  at::Tensor wide = at::full({1}, 1e38, at::kFloat);
  at::Tensor by_default = at::full({1}, 1e38);
  at::Tensor small = at::full({1}, 6e4, x.options());
  at::Tensor half = x.to(at::kHalf);
  half.fill_(1e6);
  // EXPECT warning: half is Half here, at most 65504, and gets 1e6 [float-literal-tensor-promotion]
  return distance;
}

template <typename T>
T nothing_makes_it_half() {
  T best = -1e10;
  // EXPECT note: best gets -1e10, and where it is Half it is above the largest Half, 65504 [float-literal-tensor-promotion]
  return best;
}
