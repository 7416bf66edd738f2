// A text encoder's block, moved to half by hand because there is no GPU for the half run that was
// asked for: LibTorch 1.13 has no half layer norm on the CPU.
// EXPECT rule=cpu-half-norm severity=error op=aten::native_layer_norm line=here
// EXPECT-OPERANDS input=Half weight=Half bias=Half
// EXPECT-ERROR "LayerNormKernelImpl" not implemented for 'Half'
// EXPECT-FIX float
// EXIT 1
#include <torch/torch.h>

#include <iostream>

struct TextBlockImpl : torch::nn::Module {
  torch::nn::LayerNorm layer_norm1{torch::nn::LayerNormOptions({32})};
  torch::nn::Linear fc1{32, 64};

  TextBlockImpl() {
    register_module("layer_norm1", layer_norm1);
    register_module("fc1", fc1);
  }

  torch::Tensor forward(const torch::Tensor& hidden) {
    const torch::Tensor normed = layer_norm1(hidden);  // <- here
    return fc1(normed);
  }
};
TORCH_MODULE(TextBlock);

int main() {
  TextBlock block;
  block->to(torch::kHalf);
  try {
    std::cout << block(torch::randn({1, 77, 32}).to(torch::kHalf)).mean() << '\n';
  } catch (const c10::Error& error) {
    std::cerr << error.what_without_backtrace() << '\n';
    return 1;
  }
}
