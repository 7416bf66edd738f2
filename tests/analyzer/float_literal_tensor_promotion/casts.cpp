// A floating tensor that is cast to an integral dtype, or written into an integral tensor, loses what
// is behind the point where floating numbers are computed of it.
#include <torch/torch.h>

torch::Tensor cast(int64_t n) {
  torch::Tensor x = torch::rand({n, n});
  torch::Tensor scaled = (x * 3).to(torch::kLong);
  // EXPECT warning: scaled is Float and is cast to Long, and mul computes in floating point with it: what is behind the point is dropped [float-literal-tensor-promotion]
  torch::Tensor met = x.to(torch::kInt) + x;
  // EXPECT warning: x.to(torch::kInt) is Float and is cast to Int, and add computes in floating point with it: what is behind the point is dropped [float-literal-tensor-promotion]
  return scaled * 0.5 + met;
}

// Whole numbers, those of another kind, and those that stay integers, lose nothing.
torch::Tensor whole(int64_t n, torch::Tensor unknown) {
  torch::Tensor x = torch::rand({n, n});
  torch::Tensor cells = (x * 8).floor();
  torch::Tensor at = cells.to(torch::kLong);
  torch::Tensor counted = torch::arange(n).to(torch::kFloat).to(torch::kLong);
  torch::Tensor bits = (x > 0.5).to(torch::kLong);
  torch::Tensor chosen = x.index_select(0, (x[0] * 3).to(torch::kLong));
  torch::Tensor steps = (x * 3).to(torch::kLong) + 1;
  steps += steps.sum();
  return at * 0.5 + counted * 0.5 + bits * x + chosen + unknown.to(torch::kLong) * 0.5;
}

void written(int64_t n) {
  torch::Tensor x = torch::rand({n, n});
  torch::Tensor counts = torch::zeros({n}, torch::kInt);
  counts[0] = x[0][0];
  // EXPECT warning: x[0][0] is Float, and counts[0], which it is written into, is Int: what is behind the point is dropped [float-literal-tensor-promotion]
  counts.copy_(x[0]);
  // EXPECT warning: x[0] is Float, and counts, which it is written into, is Int: what is behind the point is dropped [float-literal-tensor-promotion]
  counts[1] = x[0].argmax();
  counts[2] = x[0][0].round();
  torch::Tensor image = torch::zeros({n, n}, torch::kByte);
  image.copy_(x * 255);
  counts = x[0];
}
