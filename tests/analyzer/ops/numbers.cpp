// += writes into its tensor, a number with a point makes floating numbers of integers, and a whole
// number changes nothing.
#include <torch/torch.h>

void sums(torch::Tensor unknown) {
  auto count = torch::zeros({8}, torch::kLong);
  for (int i = 0; i < 3; ++i) count += torch::rand({8});
  // EXPECT error: aten::add_ computes in Float and cannot write that into the Long self [refused-dtype]
  count -= torch::ones({8}, torch::kInt);
  count += unknown;
  auto sum = torch::zeros({8});
  sum += count;
}

void numbers() {
  auto count = torch::arange(8);
  count += 1;
  count.mul_(2).clamp_(0, 9);
  count *= 0.5;
  // EXPECT error: aten::mul_ computes in Float and cannot write that into the Long self [refused-dtype]
  auto sum = torch::zeros({8});
  sum *= 0.5;
}

void results() {
  torch::nn::Linear layer(8, 8);
  layer(torch::arange(8) * 2);
  // EXPECT error: Long input meets a Float weight [refused-dtype]
  layer(torch::arange(8) * 2.0);
  layer(torch::arange(8) / 2);
}

void contractions() {
  const auto whole = torch::arange(4), part = torch::rand({4});
  torch::einsum("i,j->ij", {whole, part});
  torch::einsum("i,i->", {whole, part});
  // EXPECT error: Long tensors[0] meets a Float tensors[1] [refused-dtype]
}
