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
