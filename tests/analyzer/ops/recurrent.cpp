// A recurrent layer, its input and its hidden state have one dtype; tuples hold what was put in.
#include <torch/torch.h>

#include <tuple>

namespace nn = torch::nn;

struct LanguageImpl : nn::Module {
  LanguageImpl()
      : embedding(register_module("embedding", nn::Embedding(8, 4))),
        lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(4, 6).batch_first(true)))),
        linear(register_module("linear", nn::Linear(6, 8))) {}

  std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>> forward(
      torch::Tensor words, std::tuple<torch::Tensor, torch::Tensor> before) {
    torch::Tensor output;
    std::tuple<torch::Tensor, torch::Tensor> state;
    std::tie(output, state) = lstm->forward(embedding->forward(words), before);
    // EXPECT error: Double hx[0] meets a Float input [mixed-operands]
    return std::make_tuple(linear->forward(output), state);
  }

  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear linear;
};
TORCH_MODULE(Language);

void run() {
  Language model;
  auto words = torch::randint(8, {1, 3});
  auto h = torch::zeros({1, 1, 6}), c = torch::zeros({1, 1, 6});
  torch::Tensor output;
  std::forward_as_tuple(output, std::tie(h, c)) = model->forward(words, std::make_tuple(h, c));
  torch::mm(output, torch::ones({8, 8}, torch::kDouble));
  // EXPECT error: Double mat2 meets a Float self [mixed-operands]
  auto wrong = torch::zeros({1, 1, 6}, torch::kDouble);
  model->forward(words, std::make_tuple(wrong, c));
}

void losses(torch::Tensor output, torch::Tensor given) {
  auto words = torch::randint(8, {3});
  nn::functional::cross_entropy(output, words);
  nn::functional::cross_entropy(output, words.to(torch::kByte));
  nn::functional::cross_entropy(output, words.to(torch::kInt));
  // EXPECT error: target is Int, and aten::nll_loss needs Long [mixed-operands]
  nn::functional::cross_entropy(output, words.to(torch::kFloat));
  // EXPECT error: target is Float, and aten::nll_loss needs Long [mixed-operands]
  nn::functional::cross_entropy(output, torch::one_hot(words, 8).to(torch::kFloat));
  nn::functional::cross_entropy(output, given.to(torch::kFloat));
  nn::CrossEntropyLoss criterion;
  criterion(output, words);
  criterion(output, words.to(torch::kInt));
  // EXPECT error: target is Int, and aten::nll_loss needs Long [mixed-operands]
  nn::BCELoss probable;
  probable(torch::sigmoid(torch::ones({3})), torch::ones({3}));
  probable(torch::sigmoid(torch::ones({3})), torch::ones({3}).to(torch::kLong));
  // EXPECT error: Long target meets a Float input [refused-dtype]
}

std::pair<torch::Tensor, torch::Tensor> get_batch() {
  auto x = torch::ones({4, 4}, torch::kDouble);
  return std::make_pair(x, x.to(torch::kFloat));
}

void pairs() {
  nn::Linear layer(4, 4);
  auto batch = get_batch();
  layer(batch.second);
  layer(batch.first);
  // EXPECT error: Double input meets a Float weight [mixed-operands]
}

// A hidden state that a field keeps.
struct Keeper : torch::nn::Module {
  explicit Keeper(torch::Dtype dtype) : lstm(4, 4) {
    hidden = std::make_tuple(torch::zeros({1, 2, 4}), torch::zeros({1, 2, 4}, dtype));
    register_module("lstm", lstm);
  }
  torch::Tensor forward(torch::Tensor x) {
    auto out = lstm->forward(x, hidden);
    // EXPECT error: Double hx[0] meets a Float input [mixed-operands]
    hidden = std::get<1>(out);
    return std::get<0>(out);
  }
  torch::nn::LSTM lstm;
  std::tuple<torch::Tensor, torch::Tensor> hidden;
};
void keeps() {
  Keeper wide(torch::kDouble), as_it_is(torch::kFloat);
  wide.forward(torch::ones({3, 2, 4}));
  as_it_is.forward(torch::ones({3, 2, 4}));
}
