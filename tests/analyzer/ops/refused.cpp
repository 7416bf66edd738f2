// An op is refused for the operands that are known, whatever the others are; where some dtype of these is taken, nothing is said.
#include <torch/torch.h>

#include <limits>

torch::Tensor picked(torch::Tensor x, torch::Tensor y) {
  torch::Tensor places = torch::rand({3});
  torch::Tensor a = x.index_select(0, places);
  // EXPECT error: index is Float, and aten::index_select needs Long [refused-dtype]
  torch::Tensor b = x.gather(1, places.to(torch::kInt)) + x.gather(1, places.to(torch::kLong));
  return a + b + x.index_select(0, y);
}

torch::Tensor ordered(torch::Tensor x, torch::Tensor order) {
  torch::Tensor ids = torch::zeros({4});
  order.index_copy_(0, ids, x);
  // EXPECT error: index is Float, and aten::index_copy_ needs Long [refused-dtype]
  order.index_copy_(0, ids.to(torch::kLong), x);
  return order;
}

torch::Tensor masked(torch::Tensor x, torch::Tensor legal) {
  torch::Tensor illegal = 1.0 - torch::stack({legal, legal}, 0);
  torch::Tensor a = torch::masked_fill(x, illegal, -1e9);
  // EXPECT error: aten::masked_fill does not take a Float mask [refused-dtype]
  torch::Tensor b = torch::masked_fill(x, 1 - legal, -1e9);
  return a + b + torch::masked_fill(x, illegal > 0, -1e9);
}

// A number that JSON cannot write loses neither the op nor the file.
torch::Tensor hidden(torch::Tensor x, torch::Tensor legal) {
  const float never = -std::numeric_limits<float>::infinity();
  torch::Tensor a = torch::masked_fill(x, legal.to(torch::kFloat), never);
  // EXPECT error: aten::masked_fill does not take a Float mask [refused-dtype]
  return a + torch::masked_fill(x, legal.to(torch::kBool), never);
}

// Between two numbers.
torch::Tensor chosen(torch::Tensor x) {
  torch::Tensor inside = (x > 0) & (x < 1);
  torch::Tensor a = torch::where(inside.to(torch::kFloat), 1.0f, 0.0f);
  // EXPECT error: aten::where does not take a Float condition [refused-dtype]
  return a + torch::where(inside, 1.0f, 0.0f) + torch::where(inside, 1, 0);
}

torch::Tensor trained(torch::Tensor given) {
  torch::nn::Linear model(1, 1);
  torch::Tensor x = torch::randint(0, 10, {15, 1});
  torch::Tensor a = model(x);
  // EXPECT error: Long input meets a Float weight [refused-dtype]
  torch::Tensor b = model(torch::randint(0, 10, {15, 1}, torch::kFloat));
  return a + b + model(given);
}

struct Net : torch::nn::Module {
  torch::nn::Conv2d conv{nullptr};
  torch::nn::Embedding embedding{nullptr};

  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor classes = torch::one_hot(x, 10);
    conv->forward(classes.to(torch::kFloat));
    embedding->forward(classes);
    return conv->forward(classes);
    // EXPECT error: Long input meets a Float weight [refused-dtype]
  }
};

// Beside slices and numbers an index is one all the same.
void among_slices(torch::Tensor unknown) {
  using torch::indexing::Slice;
  torch::Tensor x = torch::zeros({4, 8}, torch::kChar), at = torch::arange(8);
  x.index({Slice(), at.to(torch::kDouble)});
  // EXPECT error: aten::index does not take a Double indices[0] [refused-dtype]
  x.index_put_({"...", at}, torch::ones({4, 8}));
  // EXPECT error: Char self meets a Float values [refused-dtype]
  x.index_put_({"...", Slice()}, torch::ones({4, 8}));
  x.index({0, Slice(), at});
}
