// What a constructor registers as a parameter has the module's dtype; a buffer, and one whose dtype is written, are not known.
#include <torch/torch.h>

struct Net : torch::nn::Module {
  torch::Tensor pos, scale, table, wide;
  Net() : scale(register_parameter("scale", torch::ones({4}))) {
    pos = register_parameter("pos", torch::randn({4, 4}) * 0.02);
    table = register_buffer("table", torch::zeros({4, 4}));
    wide = register_parameter("wide", torch::zeros({4, 4}, torch::kDouble));
  }
  torch::Tensor forward(torch::Tensor x) {
    torch::matmul(x, pos);
    // EXPECT error: Half other meets a Float input [mixed-operands]
    torch::matmul(x, scale);
    // EXPECT error: Half other meets a Float input [mixed-operands]
    torch::matmul(x, table);
    return torch::matmul(x, wide);
  }
};

void cast() {
  auto net = std::make_shared<Net>();
  net->to(torch::kHalf);
  net->forward(torch::ones({4, 4}));
}

void as_made() {
  auto net = std::make_shared<Net>();
  net->forward(torch::ones({4, 4}));
}
