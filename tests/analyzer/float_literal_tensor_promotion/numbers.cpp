// Floating numbers become a tensor of an integral dtype, or double ones Float; constants are what somebody wrote so.
#include <torch/torch.h>

#include <vector>

torch::Tensor states(const std::vector<double>& numbers, const std::vector<int>& actions) {
  torch::Tensor a = torch::tensor(numbers, torch::kInt);
  // EXPECT warning: numbers is double, and becomes Int: what is behind the point is dropped [float-literal-tensor-promotion]
  torch::Tensor b = torch::tensor(actions, torch::kInt) + torch::tensor(actions);
  return a + b + torch::tensor(numbers, torch::kDouble);
}

torch::Tensor times(double seconds, float rate) {
  torch::Tensor a = torch::tensor(seconds);
  // EXPECT note: seconds is double, and becomes Float, as tensor() is given no dtype [float-literal-tensor-promotion]
  return a + torch::tensor(rate) + torch::tensor(0.5) + torch::tensor(seconds, torch::kFloat);
}
