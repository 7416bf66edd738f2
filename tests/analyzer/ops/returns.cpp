// What a function returns is constructed before the return is done: here no calls before have made room for its calls.
#include <torch/torch.h>

#include <memory>

struct Engine {
  torch::Dtype dtype = torch::kFloat;
  torch::Tensor image;
  explicit Engine(bool half) : image(made(half, 3)) { dtype = image.scalar_type(); }
  static torch::Tensor made(bool half, int depth) { return deeper(half); }
  static torch::Tensor deeper(bool half) { return deepest(half); }
  static torch::Tensor deepest(bool) { return torch::zeros({4, 4}, torch::kHalf); }
};
std::shared_ptr<Engine> engine_of(bool half) {
  if (half) return std::make_shared<Engine>(half);
  return std::make_shared<Engine>(!half);
}
Engine one_of(bool half) { return Engine(half); }

void returned(bool half) {
  torch::mm(torch::ones({4, 4}), Engine::deepest(half));
  // EXPECT error: Half mat2 meets a Float self [mixed-operands]
}
