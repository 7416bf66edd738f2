// A module that was cast is called with a tensor of another dtype; casts that fit, and what nobody knows, are sound.
#include <torch/torch.h>

struct Net : torch::nn::Module {
  torch::nn::Linear layer{nullptr};
  torch::nn::LayerNorm norm{nullptr};

  torch::Tensor forward(torch::Tensor x) {
    x = layer->forward(x);
    // EXPECT error: Float input meets a Half weight [mixed-operands]
    return norm(x);
  }
};

struct Other : torch::nn::Module {
  torch::nn::Linear layer{nullptr};

  torch::Tensor forward(torch::Tensor x) { return layer->forward(x); }
};

void whole_module(torch::Tensor x) {
  auto net = std::make_shared<Net>();
  net->to(torch::kHalf);
  net->forward(torch::ones({2, 4}));
  auto other = std::make_shared<Other>();
  other->to(torch::kHalf);
  other->forward(torch::ones({2, 4}, torch::kHalf));
  other->forward(x);
}

void one_layer(torch::Tensor x) {
  torch::nn::Linear layer(4, 4);
  layer(torch::ones({2, 4}));
  layer(x.to(torch::kHalf));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  layer->to(torch::kHalf);
  layer->forward(torch::ones({2, 4}));
  // EXPECT error: Float input meets a Half weight [mixed-operands]
  torch::Tensor y = layer->forward(x.to(torch::kHalf));
  y + torch::ones({2, 4});
  // EXPECT warning: aten::add promotes self from Half to Float [silent-promotion]
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 8, 3).padding(1));
  conv->to(torch::kCUDA, torch::kHalf);
  conv(torch::ones({1, 3, 8, 8}));
  // EXPECT error: Float input meets a Half weight [mixed-operands]
}

void either(torch::Tensor x, torch::nn::Linear given, bool half) {
  torch::nn::Linear layer(4, 4);
  if (half) layer->to(torch::kHalf);
  layer(torch::ones({2, 4}));
  layer(x.to(at::kHalf));
  given(x.to(at::kHalf));
}

void cast_elsewhere(torch::nn::Linear& layer);

void given_away() {
  torch::nn::Linear layer(4, 4);
  cast_elsewhere(layer);
  layer(torch::ones({2, 4}, torch::kHalf));
}

void back_to_float() {
  auto net = std::make_shared<Other>();
  net->to(torch::kHalf);
  net->layer->to(torch::kFloat);
  net->forward(torch::ones({2, 4}));
}
