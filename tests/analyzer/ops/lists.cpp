// A list of tensors of one dtype has that, from the first on; of others it is not known.
#include <torch/torch.h>

torch::Tensor repeated(const torch::Tensor& x, int n) {
  std::vector<torch::Tensor> all(n, x);
  return torch::cat(all, 0);
}

void collected(torch::Tensor unknown) {
  torch::nn::Linear fc(4, 4);
  std::vector<torch::Tensor> states;
  for (int i = 0; i < 3; ++i) states.push_back(torch::zeros({4}, torch::kDouble));
  fc->forward(torch::stack(states));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  states.push_back(unknown);
  fc->forward(torch::stack(states));
}

void made() {
  torch::nn::Linear fc(4, 4);
  fc->forward(repeated(torch::zeros({4}, torch::kHalf), 3));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  std::vector<torch::Tensor> halves = {torch::zeros({4}, torch::kHalf), torch::ones({4}, torch::kHalf)};
  fc->forward(torch::cat(torch::TensorList(halves)));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  std::vector<torch::Tensor> mixed = {torch::zeros({4}, torch::kHalf), torch::ones({4})};
  fc->forward(mixed[1]);
}

void of_either(bool is_wide) {
  torch::nn::Linear fc(4, 4);
  std::vector<torch::Tensor> all;
  if (is_wide)
    all.push_back(torch::zeros({4}, torch::kDouble));
  else
    all.push_back(torch::zeros({4}));
  fc->forward(torch::cat(all));
}
