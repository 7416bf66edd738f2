// A TorchScript program that was cast is given what it was cast to, and behind the end of an autocast
// region ops get what they see; what ops of the region gave is not known.
#include <ATen/autocast_mode.h>
#include <torch/script.h>
#include <torch/torch.h>

void program(torch::Tensor given) {
  auto module = torch::jit::load("model.pt");
  module.forward({torch::ones({2, 8}, torch::kDouble)});
  module.to(torch::kHalf);
  module.forward({torch::ones({2, 8})});
  // EXPECT error: Float input meets a Half weight [mixed-operands]
  module.forward({torch::ones({2, 8}).to(torch::kHalf)});
  module.forward({torch::ones({2, 8}, torch::kLong)});  // tokens
  module.forward({given});
}

void list() {
  auto module = torch::jit::load("model.pt");
  module.to(torch::kHalf);
  std::vector<torch::jit::IValue> inputs;
  inputs.push_back(torch::ones({2, 8}));
  module.forward(inputs);
  // EXPECT error: Float input meets a Half weight [mixed-operands]
  inputs.clear();
  inputs.push_back(torch::ones({2, 8}, torch::kHalf));
  module.forward(inputs);
}

void region(bool on) {
  torch::nn::Linear layer(8, 8);
  at::autocast::set_autocast_enabled(at::kCPU, true);
  auto hidden = layer(torch::ones({2, 8}, torch::kHalf));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  torch::mm(hidden, torch::ones({8, 8}, torch::kBFloat16));
  layer(torch::ones({2, 8}, torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  at::autocast::set_autocast_enabled(at::kCPU, on);
  layer(torch::ones({2, 8}, torch::kHalf));
}
