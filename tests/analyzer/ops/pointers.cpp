// An object behind a pointer, and under another name, is the one that it points to.
#include <torch/torch.h>

#include <memory>

struct Source {
  explicit Source(torch::Dtype dtype) : dtype_(dtype) {}
  torch::Tensor make(int64_t n) { return torch::ones({n, 4}, torch::dtype(dtype_)); }
  torch::Dtype dtype_;
};

struct Agent {
  void set(torch::Dtype dtype) { source = std::make_unique<Source>(dtype); }
  void learn() {
    net->forward(source->make(2));
    // EXPECT error: Half input meets a Float weight [mixed-operands]
    // EXPECT error: Double input meets a Float weight [mixed-operands]
  }
  std::unique_ptr<Source> source;
  torch::nn::Linear net{4, 4};
};

void prepare(Agent* agent, torch::Dtype dtype) { agent->set(dtype); }

void behind_a_smart_pointer() {
  auto agent = std::make_unique<Agent>();
  prepare(agent.get(), torch::kHalf);
  agent->learn();
}
void behind_a_pointer() {
  Agent* agent = new Agent();
  Agent& same = *agent;
  same.set(torch::kDouble);
  agent->learn();
}
void is_set_again() {
  auto agent = std::make_shared<Agent>();
  prepare(agent.get(), torch::kHalf);
  agent = std::make_shared<Agent>();
  agent->set(torch::kFloat);
  agent->learn();
}
void is_another_one() {
  Agent one, other;
  prepare(&other, torch::kHalf);
  prepare(&one, torch::kFloat);
  one.learn();
}
