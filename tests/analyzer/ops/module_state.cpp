// A module that is made is Float until it is cast, wherever it is handed to: holders, references,
// functions that make one, layers in a Sequential. What may have been cast is not known.
#include <torch/torch.h>

struct BlockImpl : torch::nn::Module {
  explicit BlockImpl(int64_t size) : layer(register_module("layer", torch::nn::Linear(size, size))) {}
  torch::Tensor forward(torch::Tensor x) {
    return torch::relu(layer(x));
    // EXPECT error: Half input meets a Float weight [mixed-operands]
  }
  torch::nn::Linear layer;
};
TORCH_MODULE(Block);

struct Doubled : torch::nn::Module {
  Doubled() : layer(register_module("layer", torch::nn::Linear(4, 4))) { this->to(torch::kDouble); }
  torch::Tensor forward(torch::Tensor x) { return layer(x); }
  torch::nn::Linear layer;
};

struct Halves : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return layer(x); }
  void lower() { to(torch::kHalf); }
  torch::nn::Linear layer{4, 4};
};

Block make_block() {
  Block block(4);
  block->to(torch::kCPU);
  return block;
}

torch::nn::Sequential make_layers() {
  return torch::nn::Sequential(torch::nn::Flatten(), torch::nn::Linear(4, 4), torch::nn::ReLU());
}

void cast(Block& block) { block->to(torch::kDouble); }
void cast_elsewhere(Block& block);

void made() {
  auto block = make_block();
  block(torch::ones({2, 4}));
  block(torch::ones({2, 4}, torch::kHalf));
}

void cast_by_a_function() {
  torch::nn::Linear layer(4, 4);
  auto& same = layer;
  same->to(torch::kDouble);
  layer(torch::ones({2, 4}));
  // EXPECT error: Double weight meets a Float input [mixed-operands]
  Block block(4);
  cast(block);
  block->layer(torch::ones({2, 4}));
  // EXPECT error: Double weight meets a Float input [mixed-operands]
  Block other(4);
  cast_elsewhere(other);
  other->layer(torch::ones({2, 4}, torch::kHalf));
}

void cast_by_itself() {
  Doubled doubled;
  doubled.forward(torch::ones({2, 4}, torch::kDouble));
  Halves halves;
  halves.lower();
  halves.forward(torch::ones({2, 4}, torch::kHalf));
}

void loaded() {
  Block block(4);
  torch::load(block, "block.pt");
  block->layer(torch::ones({2, 4}, torch::kHalf));
}

void layers(torch::Tensor x) {
  auto all = make_layers();
  all->forward(torch::ones({2, 4}));
  all->forward(torch::ones({2, 4}, torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  all->to(torch::kDouble);
  all->forward(torch::ones({2, 4}, torch::kDouble));
  all->forward(x);
}

void default_dtype() {
  torch::set_default_dtype(caffe2::TypeMeta::Make<double>());
  torch::nn::Linear layer(4, 4);
  layer(torch::ones({2, 4}, torch::kDouble));
}
