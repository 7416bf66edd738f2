// A line through points, once by a layer and once by least squares.
#include <torch/torch.h>

#include <iostream>
#include <vector>

struct Batch {
  torch::Tensor x, y;
};

Batch get_batch(const std::vector<float>& numbers, const torch::Tensor& weight) {
  auto x = torch::from_blob(const_cast<float*>(numbers.data()),
                            {static_cast<int64_t>(numbers.size() / 2), 2}, torch::kFloat32)
               .clone();
  auto y = x.mm(weight) + 0.5;
  return {x, y};
}

torch::Tensor normalized(torch::Tensor x) {
  auto mean = x.mean(0), deviation = x.std(0);
  return (x - mean).div_(deviation);
}

int main() {
  torch::manual_seed(1);
  const auto weight = torch::full({2, 1}, 1.5);
  std::vector<float> numbers;
  for (int i = 0; i < 32; ++i) numbers.push_back(static_cast<float>(i * i % 17) / 17.0f);
  auto [x, y] = get_batch(numbers, weight);
  x = normalized(x);

  auto layer = torch::nn::Linear(2, 1);
  layer->to(torch::kCPU);
  torch::nn::MSELoss criterion;
  torch::optim::SGD optimizer(layer->parameters(), 0.1);
  for (int step = 0; step < 20; ++step) {
    auto output = layer->forward(x);
    auto loss = criterion(output, y);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (step % 5 == 0) std::cout << "loss " << loss.item<float>() << '\n';
  }

  auto ones = torch::ones({x.size(0), 1});
  auto points = torch::cat({x, ones}, 1);
  auto exact = torch::matmul(torch::pinverse(points), y);
  auto huber = torch::smooth_l1_loss(torch::matmul(points, exact), y);
  auto best = torch::index_select(points, 0, torch::arange(4));
  std::cout << "exact " << exact.flatten() << '\n' << huber << '\n' << best.sum() << '\n';
}
