// Inside a region what no cast of autocast's mends is judged; what its ops give is one of the dtypes that it casts to.
#include <ATen/autocast_mode.h>
#include <torch/torch.h>

struct Net : torch::nn::Module {
  torch::nn::Linear fc{4, 4};
  torch::nn::Embedding table{10, 4};
};

void begin() { at::autocast::set_autocast_enabled(at::kCPU, true); }

void integers(int n) {
  Net net;
  begin();
  auto scores = net.fc(torch::ones({n, 4}));
  torch::nll_loss(scores, torch::zeros({n}, torch::kInt));
  // EXPECT error: target is Int, and aten::nll_loss needs Long [mixed-operands]
  net.fc(torch::ones({n, 4}, torch::kByte));
  // EXPECT error: Byte input meets a Float weight [refused-dtype]
  net.table(torch::ones({n}));
  // EXPECT error: indices is Float, and aten::embedding needs Long [mixed-operands]
  net.table(scores.argmax(1));
  torch::nll_loss(scores, scores.argmax(1));
}

void wide(int n) {
  Net net;
  begin();
  net.fc(torch::ones({n, 4}, torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  net.to(torch::kDouble);
  net.fc(torch::ones({n, 4}, torch::kDouble));
}

void what_it_casts(int n) {
  Net net;
  begin();
  net.fc(torch::ones({n, 4}, torch::kHalf));
  torch::mm(torch::ones({n, n}), torch::ones({n, n}, torch::kBFloat16));
}

void behind_it(int n) {
  Net net;
  begin();
  auto scores = net.fc(torch::ones({n, 4}));
  at::autocast::set_autocast_enabled(at::kCPU, false);
  torch::mm(scores, torch::ones({4, n}));
  torch::mm(scores, torch::ones({4, n}, torch::kHalf));
  torch::mm(scores, torch::ones({4, n}, torch::kDouble));
  // EXPECT error: Double mat2 meets a Float self [mixed-operands]
}

void no_region(int n) {
  at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
  if (at::autocast::is_autocast_enabled(at::kCPU)) return;
  torch::mm(torch::ones({n, n}), torch::ones({n, n}, torch::kBFloat16));
  // EXPECT error: BFloat16 mat2 meets a Float self [mixed-operands]
}
