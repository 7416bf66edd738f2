// What a loop's body makes the next round is given; a place that calls of different dtypes lead to is judged for each.
#include <torch/torch.h>

struct StepImpl : torch::nn::Module {
  torch::nn::Linear fc{4, 4};
  torch::Tensor forward(torch::Tensor x) { return fc->forward(x); }
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  // EXPECT error: Half input meets a Float weight [mixed-operands]
};
TORCH_MODULE(Step);

void rounds(int count, bool once) {
  Step step;
  torch::Tensor x = torch::ones({4, 4});
  for (int i = 0; i < count; ++i) x = step->forward(x).to(torch::kDouble);
  torch::Tensor first = torch::ones({4, 4});
  step->forward(first);
  step->forward(first.to(torch::kHalf));
}

// Near misses: what is cast back before the next round, a loop that is left in the first, one whose variable is made anew.
void fits(int count) {
  torch::nn::Linear fc(4, 4);
  torch::Tensor x = torch::ones({4, 4}), kept = x;
  for (int i = 0; i < count; ++i) {
    torch::Tensor wide = fc->forward(x).to(torch::kDouble);
    x = wide.to(torch::kFloat);
    kept = wide;
  }
  for (int i = 0; i < count; ++i) {
    fc->forward(x);
    x = x.to(torch::kDouble);
    break;
  }
  torch::Tensor y = torch::ones({4, 4});
  while (count-- > 0) {
    y = torch::ones({4, 4});
    fc->forward(y);
    y = y.to(torch::kHalf);
  }
}
