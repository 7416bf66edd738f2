// Modules that a function did not make are Float, where no file of the run casts one: fields,
// parameters, what was loaded or given to functions of other files. What fits them is sound.
#include <torch/torch.h>

namespace nn = torch::nn;

struct OutsideImpl : nn::Module {
  explicit OutsideImpl(nn::Sequential given) : given(given) {
    fill(filled, 4);
    assigned = register_module("assigned", nn::Sequential(nn::ReLU(), nn::Linear(4, 4)));
  }
  void fill(nn::Sequential& layers, int64_t size);
  torch::Tensor forward(torch::Tensor x) {
    x = filled->forward(x.to(torch::kDouble));
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    x = assigned->forward(x.to(torch::kDouble));
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    x = given->forward(x.to(torch::kDouble));
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    x = given->forward(x.to(torch::kLong));
    return filled->forward(x.to(torch::kFloat));
  }
  nn::Sequential filled, assigned{nullptr}, given{nullptr};
};
TORCH_MODULE(Outside);
void OutsideImpl::fill(nn::Sequential& layers, int64_t size) {
  if (size > 1) layers->push_back(nn::Conv2d(size, size, 3));
}

void initialize(nn::Module& module);
nn::Linear made_elsewhere();

void train(nn::Linear& model, torch::Tensor x) {
  model->forward(x.to(torch::kHalf));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  model->forward(x.to(torch::kFloat));
}

void loaded(torch::Tensor x) {
  nn::Linear model(4, 4);
  model->apply(initialize);
  torch::load(model, "model.pt");
  model(x.to(torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  made_elsewhere()(x.to(torch::kDouble));
  auto other = made_elsewhere();
  other(x.to(torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
}

// A program of TorchScript has the dtype that its file says.
void program(torch::jit::script::Module& given, torch::Tensor x) {
  given.forward({x.to(torch::kDouble)});
}

void several(nn::Sequential& layers, torch::Tensor x) {
  x = torch::relu(layers->forward(x));
  layers->forward(x.to(torch::kFloat));
}

struct Runner {
  std::shared_ptr<OutsideImpl> model;
  nn::Bilinear both{nullptr};
  nn::MultiheadAttention attention{nullptr};
  void run(torch::Tensor x, torch::Tensor y) {
    both(x, y.to(torch::kDouble));
    // EXPECT error: Double input2 meets a Float weight [mixed-operands]
    attention(x, x, y.to(torch::kDouble));
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    both(x, y.to(torch::kFloat));
    y = torch::zeros({4, 4}, torch::kInt);
    y.index_put_({0, torch::indexing::Slice()}, torch::ones({4}, torch::kLong));
    y.index_put_({x > 0}, torch::ones({1}, torch::kLong));
    // EXPECT error: Long values meets a Int self [refused-dtype]
  }
};
