// An object's fields go into its functions and back, each object's its own.
#include <torch/torch.h>

struct Memory {
  explicit Memory(torch::Dtype dtype) : states(torch::zeros({4, 4}, dtype)), dones(torch::zeros({4}, torch::kBool)) {}
  torch::Tensor at(torch::Tensor index) { return states.index_select(0, index); }
  void widen() { states = states.to(torch::kDouble); }
  torch::Tensor states, dones;
};

struct Agent {
  explicit Agent(torch::Dtype dtype) : memory(dtype), net(4, 4) {}
  void learn() {
    net->forward(memory.at(torch::randint(4, {2})));
    // EXPECT error: Half input meets a Float weight [mixed-operands]
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    torch::zeros({4}).masked_fill_(memory.dones, 1.0);
  }
  Memory memory;
  torch::nn::Linear net;
};

void fires() {
  Agent agent(torch::kHalf);
  agent.learn();
}
void is_changed() {
  Agent agent(torch::kFloat);
  agent.memory.widen();
  agent.learn();
}

// Near misses: what fits, though another object does not; what a function of another file may have changed.
void change(Agent& agent);
void fits(torch::Dtype dtype) {
  Agent other(torch::kHalf), agent(torch::kFloat);
  agent.learn();
  Agent unknown(dtype);
  unknown.learn();
  Agent changed(torch::kHalf);
  change(changed);
  changed.learn();
}

// A norm gives the dtype that it is given, whatever its weights have.
torch::Tensor normed(torch::Tensor x, torch::Tensor weight, torch::Tensor mean, torch::Tensor var) {
  torch::Tensor y = torch::batch_norm(x.to(torch::kHalf), weight, weight, mean, var, true, 0.1, 1e-5, true);
  return torch::mm(y, torch::ones({4, 4}));
  // EXPECT error: Float mat2 meets a Half self [mixed-operands]
}

// A struct that a function returns, by a constructor or a list.
struct Pair {
  Pair(torch::Tensor image, torch::Tensor label) : image(image), label(label) {}
  torch::Tensor image, label;
};
struct Listed {
  torch::Tensor image;
  torch::Dtype dtype = torch::kHalf;
};
Pair make_pair_of(torch::Dtype dtype) { return Pair(torch::zeros({4, 4}, dtype), torch::zeros({4}, torch::kLong)); }
Listed make_listed() { return {torch::zeros({4, 4})}; }
Pair either(bool first) {
  if (first) return make_pair_of(torch::kHalf);
  return make_pair_of(torch::kFloat);
}
void returned(bool first) {
  torch::Tensor x = torch::ones({4, 4});
  auto pair = make_pair_of(torch::kDouble);
  torch::mm(x, pair.image);
  // EXPECT error: Double mat2 meets a Float self [mixed-operands]
  x.gather(1, pair.label);
  const Listed listed = make_listed();
  torch::mm(x, listed.image);
  torch::mm(x, x.to(listed.dtype));
  // EXPECT error: Half mat2 meets a Float self [mixed-operands]
  torch::mm(x, either(first).image);
}

// A lambda that is handed on is judged as it stands.
std::function<torch::Tensor(torch::Tensor, torch::Tensor)> loss_of() {
  auto loss = [](torch::Tensor input, torch::Tensor target) {
    return torch::nn::functional::cross_entropy(input, target.to(torch::kInt));
    // EXPECT error: target is Int, and aten::nll_loss needs Long [mixed-operands]
  };
  auto fits = [](torch::Tensor input, torch::Tensor target) {
    return torch::nn::functional::cross_entropy(input, target.to(torch::kLong));
  };
  std::function<torch::Tensor(torch::Tensor, torch::Tensor)> other = fits;
  return loss;
}

// A program may put its modules into LibTorch's own namespace.
namespace torch::nn {
struct HeadImpl : Module {
  Linear fc{4, 4};
  BatchNorm1d norm{4};
  Tensor forward(Tensor x) {
    return fc(norm(x));
    // EXPECT error: Half input meets a Float weight [mixed-operands]
  }
};
TORCH_MODULE(Head);
}  // namespace torch::nn
void of_namespace() {
  torch::nn::Head head;
  head->forward(torch::ones({4, 4}));
  head->forward(torch::ones({4, 4}, torch::kHalf));
}
