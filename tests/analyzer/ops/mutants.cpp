// Each mistake that bench/lint_mutants.py makes, by its name there, and beside it the same place as
// it should be. LibTorch takes class targets in Byte, an index in Int, and a gradient in Double.
#include <torch/torch.h>

#include <vector>

namespace F = torch::nn::functional;

torch::Tensor model_in_half() {
  torch::nn::Linear wrong(4, 4), right(4, 4);
  torch::Tensor x = torch::rand({2, 4});
  // model in Half
  wrong->to(torch::kHalf);
  right->to(torch::kFloat);
  torch::Tensor y = wrong->forward(x);
  // EXPECT error: Float input meets a Half weight [mixed-operands]
  return y + right->forward(x);
}

torch::Tensor model_in_double() {
  torch::nn::Linear wrong(4, 4), right(4, 4);
  torch::Tensor x = torch::rand({2, 4});
  // model in Double
  wrong->to(torch::kDouble);
  right->to(torch::kDouble);
  torch::Tensor y = wrong->forward(x);
  // EXPECT error: Double weight meets a Float input [mixed-operands]
  return y + right->forward(x.to(torch::kDouble));
}

torch::Tensor input() {
  torch::nn::Linear net(4, 4);
  torch::Tensor x = torch::rand({2, 4});
  // input in Half
  torch::Tensor half = net->forward(x.to(torch::kHalf));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  // input in Double
  torch::Tensor wide = net->forward(x.to(torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  // input in Byte
  torch::Tensor bytes = net->forward(x.to(torch::kByte));
  // EXPECT error: Byte input meets a Float weight [refused-dtype]
  return half + wide + bytes + net->forward(x.to(torch::kFloat));
}

void class_target() {
  torch::nn::Linear net(4, 4);
  torch::Tensor scores = net->forward(torch::rand({2, 4})), target = torch::randint(4, {2});
  // class target in Float
  torch::nll_loss(scores, target.to(torch::kFloat));
  // EXPECT error: target is Float, and aten::nll_loss needs Long [mixed-operands]
  // class target in Int
  torch::nll_loss(scores, target.to(torch::kInt));
  // EXPECT error: target is Int, and aten::nll_loss needs Long [mixed-operands]
  torch::nll_loss(scores, target.to(torch::kLong));
  F::cross_entropy(scores, target.to(torch::kFloat));
  // EXPECT error: target is Float, and aten::nll_loss needs Long [mixed-operands]
  F::cross_entropy(scores, target.to(torch::kLong));
  // class target in Byte
  F::cross_entropy(scores, target.to(torch::kByte));
}

void probability_target() {
  torch::Tensor p = torch::sigmoid(torch::rand({2})), target = torch::ones({2});
  // probability target in Long
  torch::binary_cross_entropy(p, target.to(torch::kLong));
  // EXPECT error: Long target meets a Float input [refused-dtype]
  torch::binary_cross_entropy(p, target.to(torch::kFloat));
}

void regression_target() {
  torch::nn::Linear net(4, 1);
  torch::Tensor y = net->forward(torch::rand({2, 4}));
  // regression target in Double
  torch::mse_loss(y, torch::rand({2, 1}).to(torch::kDouble)).backward();
  // EXPECT warning: aten::mse_loss promotes self from Float to Double [silent-promotion]
  torch::mse_loss(y, torch::rand({2, 1}).to(torch::kFloat)).backward();
}

torch::Tensor index() {
  torch::Tensor x = torch::rand({4, 4}), at = torch::randint(4, {4, 1});
  // index in Float
  torch::Tensor a = x.gather(1, at.to(torch::kFloat));
  // EXPECT error: index is Float, and aten::gather needs Long [refused-dtype]
  torch::Tensor b = torch::gather(x, 1, at.to(torch::kFloat));
  // EXPECT error: index is Float, and aten::gather needs Long [refused-dtype]
  torch::Tensor c = x.index_select(0, at.squeeze(1).to(torch::kFloat));
  // EXPECT error: index is Float, and aten::index_select needs Long [refused-dtype]
  // index in Int
  return a + b + c + x.gather(1, at.to(torch::kLong)) + x.index_select(0, at.squeeze(1).to(torch::kInt));
}

torch::Tensor mask() {
  torch::Tensor x = torch::rand({4}), is_small = x < 0.5;
  // mask in Float
  torch::Tensor a = x.masked_fill(is_small.to(torch::kFloat), 0);
  // EXPECT error: aten::masked_fill does not take a Float mask [refused-dtype]
  // mask in Byte
  torch::Tensor b = x.masked_fill(is_small.to(torch::kByte), 0);
  // EXPECT error: aten::masked_fill does not take a Byte mask [refused-dtype]
  return a + b + x.masked_fill(is_small.to(torch::kBool), 0) + torch::where(is_small.to(torch::kBool), x, -x);
}

torch::Tensor hidden_state() {
  torch::nn::LSTM net(4, 4);
  torch::Tensor x = torch::rand({2, 1, 4}), h = torch::zeros({1, 1, 4}), c = torch::zeros({1, 1, 4});
  // hidden state in Double
  auto wrong = net->forward(x, std::make_tuple(h.to(torch::kDouble), c));
  // EXPECT error: Double hx[0] meets a Float input [mixed-operands]
  auto right = net->forward(x, std::make_tuple(h.to(torch::kFloat), c));
  return std::get<0>(wrong) + std::get<0>(right);
}

torch::Tensor product() {
  torch::Tensor a = torch::rand({4, 4}), b = torch::rand({4, 4});
  // product with Double
  torch::Tensor wrong = a.matmul(b.to(torch::kDouble));
  // EXPECT error: Double other meets a Float input [mixed-operands]
  return wrong + torch::mm(a, b.to(torch::kFloat)) + a.matmul(b.to(torch::kFloat));
}

struct NetImpl : torch::nn::Module {
  NetImpl() : first(register_module("first", torch::nn::Linear(4, 4))), second(register_module("second", torch::nn::Linear(4, 4))) {}
  torch::Tensor forward(torch::Tensor x) {
    // Half inside forward
    torch::Tensor wrong = first(x).to(torch::kHalf);
    torch::Tensor right = first(x).to(torch::kFloat);
    torch::Tensor y = second(wrong);
    // EXPECT error: Half input meets a Float weight [mixed-operands]
    return y + second(right);
  }
  // result in Double
  torch::Tensor twice(torch::Tensor x) { return (x * 2).to(torch::kDouble); }
  torch::Tensor thrice(torch::Tensor x) { return (x * 3).to(torch::kFloat); }
  torch::nn::Linear first, second;
};
TORCH_MODULE(Net);

void inside_forward() {
  Net net;
  net->forward(torch::rand({2, 4}));
}

torch::Tensor result() {
  Net net;
  torch::Tensor x = torch::rand({2, 4});
  torch::Tensor wrong = net->first(net->twice(x));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  return wrong + net->first(net->thrice(x));
}

torch::Tensor factory() {
  torch::nn::Linear net(4, 4);
  // factory in Half
  torch::Tensor half = net->forward(torch::zeros({2, 4}).to(torch::kHalf));
  // EXPECT error: Half input meets a Float weight [mixed-operands]
  // factory in Double
  torch::Tensor wide = net->forward(torch::ones({2, 4}, torch::kDouble));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  return half + wide + net->forward(torch::zeros({2, 4}).to(torch::kFloat));
}

void loader() {
  torch::nn::Linear net(784, 10);
  auto plain = torch::data::datasets::MNIST("data").map(torch::data::transforms::Stack<>());
  for (auto& batch : *torch::data::make_data_loader(std::move(plain), 4)) {
    // batch in Double
    net->forward(batch.data.to(torch::kDouble).flatten(1));
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    torch::Tensor scores = net->forward(batch.data.to(torch::kFloat).flatten(1));
    // batch's target in Float
    torch::nll_loss(scores, batch.target.to(torch::kFloat));
    // EXPECT error: target is Float, and aten::nll_loss needs Long [mixed-operands]
    torch::nll_loss(scores, batch.target.to(torch::kLong));
  }
  // transform to Double
  auto wide = torch::data::datasets::MNIST("data")
                  .map(torch::data::transforms::TensorLambda<>([](torch::Tensor one) { return one.to(torch::kDouble); }))
                  .map(torch::data::transforms::Stack<>());
  for (auto& batch : *torch::data::make_data_loader(std::move(wide), 4)) net->forward(batch.data.flatten(1));
  // EXPECT error: Double input meets a Float weight [mixed-operands]
  auto same = torch::data::datasets::MNIST("data")
                  .map(torch::data::transforms::TensorLambda<>([](torch::Tensor one) { return one.to(torch::kFloat); }))
                  .map(torch::data::transforms::Stack<>());
  for (auto& batch : *torch::data::make_data_loader(std::move(same), 4)) net->forward(batch.data.flatten(1));
}

torch::Tensor blob() {
  torch::nn::Linear net(4, 4);
  std::vector<float> values(8);
  // from_blob of Int
  torch::Tensor wrong = torch::from_blob(values.data(), {2, 4}, torch::kInt);
  // EXPECT error: a buffer of float becomes a tensor of Int [from-blob-dtype]
  torch::Tensor right = torch::from_blob(values.data(), {2, 4}, torch::kFloat);
  return wrong + net->forward(right);
}

void division() {
  torch::Tensor image = torch::rand({4});
  // Byte divided in place
  image.to(torch::kByte).div_(255);
  // EXPECT error: image.to(torch::kByte) is Byte here, and a division in place cannot store the quotient [integer-division-in-place]
  image.to(torch::kFloat).div_(255);
}

void gradient() {
  torch::nn::Linear net(4, 4);
  torch::Tensor y = net->forward(torch::rand({2, 4}));
  // gradient in Double
  y.backward(torch::ones({2, 4}).to(torch::kDouble));
  y.backward(torch::ones({2, 4}).to(torch::kFloat));
}

void losses(int64_t n) {
  torch::nn::Linear net(4, 4);
  torch::Tensor x = torch::rand({n, 4}), y = torch::rand({n, 4});
  // loss in Half
  torch::Tensor loss = torch::mse_loss(net->forward(x), y).to(torch::kHalf);
  loss.backward();
  // EXPECT warning: backward is given loss in Half, which was wider before [half-accumulation]
  // sum in Half
  torch::Tensor total = x.to(torch::kHalf).sum();
  // EXPECT warning: sum is given x.to(torch::kHalf) in Half, which was wider before [half-accumulation]
  // truncated to Long
  torch::Tensor whole = net->forward(x).to(torch::kLong);
  // EXPECT warning: whole is Float and is cast to Long, and add computes in floating point with it: what is behind the point is dropped [float-literal-tensor-promotion]
  torch::Tensor sum = whole + y;
  // read as Int
  const float shown = y.mean().to(torch::kInt).item<float>();
  // EXPECT warning: y.mean().to(torch::kInt) is Float, cast to Int, which drops what is behind the point [scalar-item]
  torch::mse_loss(net->forward(x), y + x.sum() + shown).backward();
}
