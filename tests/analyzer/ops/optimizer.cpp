// An optimizer over a module that was cast to Half; one that was moved only, or cast to be used, is sound.
#include <torch/torch.h>

struct Net : torch::nn::Module {
  torch::nn::Linear layer{nullptr};
};

void train(at::Tensor x) {
  auto net = std::make_shared<Net>();
  net->to(torch::kCUDA, torch::kHalf);
  torch::optim::AdamW optimizer(net->parameters(), 1e-4);
  // EXPECT error: aten::addcdiv_ steps the Half parameter net->parameters() in place [fp16-trainable]
  optimizer.step();
}

void train_float(at::Tensor x) {
  auto net = std::make_shared<Net>();
  net->to(torch::kCUDA);
  torch::optim::AdamW optimizer(net->parameters(), 1e-4);
  optimizer.step();
  net->to(torch::kHalf);
}
