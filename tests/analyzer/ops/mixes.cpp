// Ops on tensors of known dtypes are judged as those of a run; what nobody knows is not.
#include <torch/extension.h>

at::Tensor project(at::Tensor x, at::Tensor weight) {
  at::Tensor half = x.to(at::kHalf);
  at::Tensor wide = at::ones({4, 4});
  at::Tensor refused = at::matmul(half, wide);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  at::Tensor widened = half + wide;
  // EXPECT warning: aten::add promotes self from Half to Float [silent-promotion]
  at::Tensor fits = half.matmul(wide.to(at::kHalf));
  return fits + x.matmul(weight);
}

at::Tensor normalised(at::Tensor x) {
  at::Tensor half = x.to(at::kHalf);
  at::Tensor wide = x.to(at::kFloat);
  return half / (half.add(1e-8)) + (wide.add(1e-8)).to(at::kHalf);
  // EXPECT warning: 1e-08 is 0 in Half [eps-underflow]
}

at::Tensor under_autocast(at::Tensor x) {
  struct AutocastGuard {
    bool before = true;
  } guard;
  return at::matmul(x.to(at::kHalf), at::ones({4, 4}));
}
