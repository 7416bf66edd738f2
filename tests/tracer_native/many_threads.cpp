// Threads that each train a model of their own, at the same lines: all of them meet the tracer's
// tables with the same op calls at the same time.
#include <torch/torch.h>

#include <thread>
#include <vector>

constexpr int kThreads = 4;
constexpr int kSteps = 30;

static void refused() {
  try {
    torch::mm(torch::ones({2, 2}), torch::ones({2, 2}).to(torch::kDouble));
  } catch (const c10::Error&) {
  }
}

static void train() {
  torch::nn::Sequential model(torch::nn::Linear(8, 16),
                              torch::nn::LayerNorm(torch::nn::LayerNormOptions({16})),
                              torch::nn::Linear(16, 4));
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(1e-2));
  for (int step = 0; step < kSteps; ++step) {
    optimizer.zero_grad();
    model->forward(torch::ones({4, 8})).pow(2).mean().backward();
    optimizer.step();
    if (step % 10 == 9) refused();
  }
}

int main() {
  torch::ones(1);  // loads the tracer; threads do not wait for that
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(train);
  for (std::thread& thread : threads) thread.join();
  return 0;
}
