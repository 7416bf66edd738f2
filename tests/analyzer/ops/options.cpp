// Options that name no dtype leave it as it would be without them.
#include <torch/torch.h>

const auto kOnCpu = torch::TensorOptions().device(torch::kCPU);
const auto kSame = kOnCpu;

void factories(torch::Device device) {
  torch::nn::Linear fc(4, 4);
  auto options = torch::TensorOptions().device(device);
  fc->forward(torch::ones({2, 4}, options));
  fc->forward(torch::ones({2, 4}, kSame.requires_grad(true)));
  fc->forward(torch::ones({2, 4}, options.dtype(torch::kDouble)));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  fc->forward(torch::ones({2, 4}, torch::kHalf).to(kSame));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  fc->forward(torch::arange(8, options));
  // EXPECT error: Long input meets a Float weight [refused-dtype]
}

void may_name_one(torch::Device device, bool is_half) {
  torch::nn::Linear fc(4, 4);
  auto options = torch::TensorOptions().device(device);
  if (is_half) options = options.dtype(torch::kHalf);
  fc->forward(torch::ones({2, 4}, options));
}

// A weight that is written anew is one of its layer, where it has that one's dtype.
struct Net : torch::nn::Module {
  Net(torch::TensorOptions options) : first(4, 4), second(4, 4) {
    first->weight = torch::zeros({4, 4}, kOnCpu.requires_grad(true));
    first->weight = torch::nn::init::uniform_(first->weight);
    second->weight = torch::zeros({4, 4}, options);
    register_module("first", first);
    register_module("second", second);
  }
  torch::nn::Linear first, second;
};
void weights(torch::TensorOptions options) {
  Net net(options);
  net.first->forward(torch::ones({2, 4}, torch::kHalf));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  net.second->forward(torch::ones({2, 4}, torch::kHalf));
}
