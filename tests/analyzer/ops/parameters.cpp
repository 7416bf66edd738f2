// What a constructor registers as a parameter has the module's dtype; a buffer, and one whose dtype is written, what it was made with, until a cast
// changes all of floating numbers.
#include <torch/torch.h>

struct Net : torch::nn::Module {
  torch::Tensor pos, scale, table, wide, positions;
  Net() : scale(register_parameter("scale", torch::ones({4}))) {
    pos = register_parameter("pos", torch::randn({4, 4}) * 0.02);
    table = register_buffer("table", torch::zeros({4, 4}));
    positions = register_buffer("positions", torch::arange(4));
    wide = register_parameter("wide", torch::zeros({4, 4}, torch::kDouble));
  }
  torch::Tensor forward(torch::Tensor x) {
    torch::matmul(x, pos);
    // EXPECT error: Half other meets a Float input [mixed-operands]
    torch::matmul(x, scale);
    // EXPECT error: Half other meets a Float input [mixed-operands]
    torch::matmul(x, table);
    // EXPECT error: Half other meets a Float input [mixed-operands]
    torch::matmul(x, positions.to(x.dtype()));
    torch::gather(x, 1, positions);
    return torch::matmul(x, wide);
    // EXPECT error: Half other meets a Float input [mixed-operands]
    // EXPECT error: Double other meets a Float input [mixed-operands]
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

struct Doubled : torch::nn::Module {
  torch::Tensor wide;
  Doubled() { wide = register_parameter("wide", torch::zeros({4, 4}, torch::kDouble)); }
  torch::Tensor forward(torch::Tensor x) {
    return torch::matmul(x, wide);
    // EXPECT error: Double other meets a Float input [mixed-operands]
  }
};

void doubled() {
  Doubled net;
  net.forward(torch::ones({4, 4}));
}
