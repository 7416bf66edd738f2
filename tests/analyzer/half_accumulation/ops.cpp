// An op that sums up what was Float before it was cast to Half, and a loss of what was.
#include <torch/torch.h>

torch::Tensor sums(int64_t n) {
  torch::Tensor x = torch::rand({n, n});
  torch::Tensor low = x.to(torch::kHalf);
  torch::Tensor total = low.sum();
  // EXPECT warning: sum is given low in Half, which was wider before [half-accumulation]
  torch::Tensor mean = x.to(torch::kBFloat16).mean();
  // EXPECT warning: mean is given x.to(torch::kBFloat16) in BFloat16, which was wider before [half-accumulation]
  torch::Tensor once = x.sum().to(torch::kHalf) + low.relu();
  return low.to(torch::kFloat).sum();
}

void losses(int64_t n) {
  torch::Tensor x = torch::rand({n, n}, torch::requires_grad());
  torch::Tensor y = torch::rand({n, n});
  torch::Tensor low = torch::relu(x.to(torch::kHalf));
  torch::Tensor coarse = torch::mse_loss(low, y.to(torch::kHalf));
  // EXPECT warning: mse_loss is given low in Half, which was wider before [half-accumulation]
  torch::Tensor loss = torch::mse_loss(x, y);
  loss.to(torch::kHalf).backward();
  // EXPECT warning: backward is given loss.to(torch::kHalf) in Half, which was wider before [half-accumulation]
  loss.backward();
  torch::mse_loss(low.to(torch::kFloat), y).backward();
}

// What was made in Half, or comes from outside in it, was never wider.
torch::Tensor made(torch::Tensor given) {
  torch::Tensor low = torch::rand({8, 8}, torch::kHalf);
  return low.sum() + given.to(torch::kHalf).sum();
}
