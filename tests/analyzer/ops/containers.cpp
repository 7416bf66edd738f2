// Modules of a list or a dictionary have its dtype until one of them is cast, what a layer holds has
// the layer's, and a tensor of the file that nothing assigns has that of what made it.
#include <torch/torch.h>

namespace nn = torch::nn;

struct StackImpl : nn::Module {
  StackImpl() {
    layers = register_module("layers", nn::ModuleList());
    layers->push_back(nn::Linear(4, 4));
    layers->push_back(nn::Linear(4, 4));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (const auto& layer : *layers) x = layer->as<nn::Linear>()->forward(x);
    // EXPECT error: Half input meets a Float weight [mixed-operands]
    return x;
  }
  torch::Tensor first(torch::Tensor x) {
    return layers[0]->as<nn::Linear>()->forward(x);
    // EXPECT error: Double input meets a Float weight [mixed-operands]
  }
  nn::ModuleList layers{nullptr};
};
TORCH_MODULE(Stack);

void lists() {
  Stack stack;
  stack->forward(torch::ones({2, 4}));
  stack->forward(torch::ones({2, 4}, torch::kHalf));
  stack->first(torch::ones({2, 4}, torch::kDouble));
}

void one_of_a_list(int which) {
  std::vector<nn::Linear> layers(3, nn::Linear(4, 4));
  layers[which]->to(torch::kDouble);
  layers[0](torch::ones({2, 4}));
  nn::Linear& last = layers[2];
  last(torch::ones({2, 4}, torch::kDouble));
}

struct HeadsImpl : nn::Module {
  explicit HeadsImpl(nn::ModuleDict all) : parts(register_module("parts", all)) {}
  torch::Tensor forward(torch::Tensor x) {
    return parts["head"]->as<nn::Linear>()->forward(x);
    // EXPECT error: Half input meets a Double weight [mixed-operands]
  }
  nn::ModuleDict parts;
};
TORCH_MODULE(Heads);

void dictionaries() {
  Heads heads(nn::ModuleDict{});
  heads->to(torch::kDouble);
  heads->forward(torch::ones({2, 4}, torch::kHalf));
  heads->forward(torch::ones({2, 4}, torch::kDouble));
}

void parameters() {
  nn::Linear layer(4, 4);
  torch::matmul(torch::ones({2, 4}), layer->weight);
  torch::matmul(torch::ones({2, 4}, torch::kHalf), layer->weight);
  // EXPECT error: Float other meets a Half input [mixed-operands]
  layer->weight = torch::ones({4, 4}, torch::kHalf);
  torch::matmul(torch::ones({2, 4}, torch::kHalf), layer->weight);
}

void cells() {
  nn::LSTMCell cell(4, 4);
  cell->forward(torch::ones({2, 4}));
  cell->forward(torch::ones({2, 4}, torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  nn::MultiheadAttention attention(4, 2);
  const auto x = torch::ones({2, 2, 4}, torch::kDouble);
  attention->forward(x, x, x);
  // EXPECT error: Double input meets a Float weight [mixed-operands]
}

static torch::Tensor mean = torch::zeros({4, 4});
static torch::Tensor scale = torch::zeros({4, 4});
const auto kOptions = torch::TensorOptions().dtype(torch::kDouble);

void set_scale(bool wide) {
  if (wide) scale = torch::ones({4, 4}, torch::kDouble);
}

void globals() {
  torch::mm(mean, torch::ones({4, 4}));
  torch::mm(mean, torch::ones({4, 4}, kOptions));
  // EXPECT error: Double mat2 meets a Float self [mixed-operands]
  torch::mm(scale, torch::ones({4, 4}, torch::kDouble));
}

struct Product : torch::autograd::Function<Product> {
  static torch::Tensor forward(torch::autograd::AutogradContext*, torch::Tensor x, torch::Tensor y) {
    return x.mm(y);
    // EXPECT error: Double self meets a Float mat2 [mixed-operands]
  }
};

void functions() {
  Product::apply(torch::ones({4, 4}), torch::ones({4, 4}));
  Product::apply(torch::ones({4, 4}, torch::kDouble), torch::ones({4, 4}));
}

// A block's own forward() is walked through with what it is given, by the list or by the block before it.
struct BlockImpl : torch::nn::Module {
  torch::nn::Linear a{nullptr};
  torch::Tensor forward(torch::Tensor x) { return torch::relu(a(x)); }
  // EXPECT error: Long input meets a Float weight [refused-dtype]
};
TORCH_MODULE(Block);
struct CastImpl : torch::nn::Module {
  torch::nn::Linear a{nullptr};
  torch::Tensor forward(torch::Tensor x) { return torch::relu(a(x.to(torch::kFloat))); }
};
TORCH_MODULE(Cast);

void of_blocks() {
  torch::Tensor x = torch::randint(0, 5, {2, 4});
  torch::nn::Sequential blocks(Block(), torch::nn::Linear(4, 4));
  blocks->forward(x);
  torch::nn::Sequential casts(Cast(), torch::nn::Linear(4, 4));
  casts->forward(x);
}

// It may copy its input first, and be made before the list that it is put in.
struct ResidualImpl : torch::nn::Module {
  torch::nn::Linear a{nullptr};
  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor residual = x;
    return torch::relu(a(x)) + residual;
    // EXPECT error: Long input meets a Float weight [refused-dtype]
  }
};
TORCH_MODULE(Residual);
struct BodyImpl : torch::nn::Module {
  explicit BodyImpl(bool looks_up) {
    torch::nn::Sequential layers, tables;
    if (looks_up) tables->push_back(torch::nn::Embedding(5, 4));
    layers->push_back(torch::nn::Flatten());
    layers->push_back(torch::nn::Linear(4, 4));
    body = register_module("body", layers);
    table = register_module("table", tables);
  }
  torch::Tensor forward(torch::Tensor x) {
    torch::Tensor found = table->forward(torch::randint(0, 5, {2, 4}));
    return found + body->forward(torch::randint(0, 5, {2, 4})) + x;
    // EXPECT error: Long input meets a Float weight [refused-dtype]
  }
  torch::nn::Sequential body{nullptr}, table{nullptr};
};

void of_blocks_made_before(int count) {
  torch::Tensor x = torch::randint(0, 5, {2, 4});
  auto* blocks = new ResidualImpl[static_cast<size_t>(count)]();
  torch::nn::Sequential first(*blocks);
  first->forward(x);
  auto* casts = new CastImpl[static_cast<size_t>(count)]();
  torch::nn::Sequential second(*casts);
  second->forward(x);
}

// What one block gives the next one takes.
struct LowersImpl : torch::nn::Module {
  torch::nn::Linear a{nullptr};
  torch::Tensor forward(torch::Tensor x) { return a(x).to(torch::kHalf); }
};
TORCH_MODULE(Lowers);
struct NextImpl : torch::nn::Module {
  torch::nn::Linear a{nullptr};
  torch::Tensor forward(torch::Tensor x) { return a(x); }
  // EXPECT error: Half input meets a Float weight [mixed-operands]
};
TORCH_MODULE(Next);
struct RaisesImpl : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x) { return x.to(torch::kFloat); }
};
TORCH_MODULE(Raises);
torch::nn::Sequential of_next() {
  torch::nn::Sequential layers;
  layers->push_back(Lowers());
  layers->push_back(torch::nn::Dropout(0.1));
  layers->push_back(Next());
  return layers;
}
struct ChainsImpl : torch::nn::Module {
  torch::nn::Sequential fits = register_module("fits", torch::nn::Sequential(Lowers(), Raises(), Lowers()));
  torch::nn::Sequential meets;
  ChainsImpl() : meets(of_next()) {}
  torch::Tensor forward(torch::Tensor x) {
    meets->forward(x);
    torch::mm(x, fits->forward(x));
    // EXPECT error: Half mat2 meets a Float self [mixed-operands]
    return x;
  }
};
void chains() {
  ChainsImpl net;
  net.forward(torch::ones({4, 4}));
}

// A loop over a list runs all of it; an AnyModule is one of what it may hold.
struct AnyImpl : torch::nn::Module {
  torch::nn::Sequential layers{torch::nn::Conv2d(1, 1, 1), torch::nn::ReLU()};
  torch::nn::AnyModule skip;
  explicit AnyImpl(bool same) {
    if (same)
      skip = register_module("skip", torch::nn::Identity());
    else
      skip = register_module("skip", torch::nn::Conv2d(1, 1, 1));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : *layers) x = layer.forward(x);
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    skip.forward(torch::ones({1, 1, 1, 1}));
    return skip.forward(torch::ones({1, 1, 1, 1}, torch::kHalf));
    // EXPECT error: Half input meets a Float weight [mixed-operands]
  }
};
void any(bool same) {
  AnyImpl net(same);
  net.forward(torch::ones({1, 1, 1, 1}, torch::kDouble));
}

void of_named_layers() {
  torch::Tensor x = torch::randint(0, 5, {2, 4});
  nn::Linear layer(4, 4);
  nn::Embedding table(5, 4);
  nn::Sequential layers({{"first", layer}, {"then", nn::ReLU()}}), tables({{"first", table}, {"then", layer}});
  layers->forward(x);
  // EXPECT error: Long input meets a Float weight [refused-dtype]
  tables->forward(x);
}

// What the fields of a struct hold goes with it into a function.
struct View {
  int width = 0;
  torch::Tensor pose;
  nn::Linear head{nullptr};
};
torch::Tensor turned(const View& view, torch::Tensor x) { return torch::matmul(view.pose, x); }
// EXPECT error: Double input meets a Float other [mixed-operands]
torch::Tensor scored(View& view) {
  return view.head->forward(view.pose);
  // EXPECT error: Double input meets a Float weight [mixed-operands]
}
torch::Tensor posed(const View& view, torch::Tensor x) { return torch::matmul(view.pose, x); }

void structs(const View& given) {
  nn::Linear head(4, 4);
  View view{8, torch::eye(4, torch::kDouble), head};
  turned(view, torch::ones({4, 4}));
  scored(view);
  View other{.width = 8, .pose = torch::eye(4)};
  posed(other, torch::ones({4, 4}));
  posed(given, torch::ones({4, 4}, torch::kDouble));
}

// A template of modules is judged for what the file makes it for.
template <typename Kind>
struct PileImpl : torch::nn::Module {
  torch::nn::Sequential layers;
  PileImpl() { layers->push_back(Kind()); }
  torch::Tensor forward(torch::Tensor x) {
    x = layers->forward(x);
    return torch::mm(x, torch::ones({4, 4}));
    // EXPECT error: Float mat2 meets a Half self [mixed-operands]
  }
};
template struct PileImpl<Lowers>;

// Indices may be optional.
void optional_indices(c10::optional<torch::Tensor> at) {
  torch::Tensor x = torch::ones({4, 4});
  x.index({at});
  at = torch::arange(4).to(torch::kHalf);
  x.index({at});
  // EXPECT error: aten::index does not take a Half indices[0] [refused-dtype]
}
