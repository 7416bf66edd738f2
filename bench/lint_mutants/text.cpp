// A recurrent network learns which word comes next, and is asked for some.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <tuple>
#include <vector>

namespace nn = torch::nn;
using torch::indexing::Slice;

class LanguageImpl : public nn::Module {
 public:
  LanguageImpl(int64_t words, int64_t width, int64_t hidden)
      : embedding(register_module("embedding", nn::Embedding(words, width))),
        lstm(register_module("lstm", nn::LSTM(nn::LSTMOptions(width, hidden).batch_first(true)))),
        linear(register_module("linear", nn::Linear(hidden, words))) {}

  std::tuple<torch::Tensor, std::tuple<torch::Tensor, torch::Tensor>> forward(
      torch::Tensor words, std::tuple<torch::Tensor, torch::Tensor> before) {
    auto x = embedding->forward(words);
    torch::Tensor output;
    std::tuple<torch::Tensor, torch::Tensor> state;
    std::tie(output, state) = lstm->forward(x, before);
    output = output.reshape({-1, output.size(2)});
    return std::make_tuple(linear->forward(output), state);
  }

 private:
  nn::Embedding embedding;
  nn::LSTM lstm;
  nn::Linear linear;
};
TORCH_MODULE(Language);

torch::Tensor read_words(int64_t batch_size) {
  std::vector<int64_t> words;
  for (int64_t i = 0; i < 80; ++i) words.push_back(i * i % 11);
  auto all = torch::from_blob(words.data(), {static_cast<int64_t>(words.size())}, torch::kLong);
  return all.clone().reshape({batch_size, -1});
}

int main() {
  torch::manual_seed(1);
  torch::Device device(torch::kCPU);
  const int64_t batch_size = 4, length = 5, hidden_size = 8;
  auto words = read_words(batch_size);

  Language model(11, 6, hidden_size);
  model->to(device);
  torch::optim::Adam optimizer(model->parameters(), torch::optim::AdamOptions(0.01));

  for (int epoch = 0; epoch < 2; ++epoch) {
    auto h = torch::zeros({1, batch_size, hidden_size}).to(device);
    auto c = torch::zeros({1, batch_size, hidden_size}).to(device);
    for (int64_t i = 0; i + length < words.size(1); i += length) {
      auto data = words.index({Slice(), Slice(i, i + length)}).to(device);
      auto target = words.index({Slice(), Slice(i + 1, i + 1 + length)}).reshape(-1).to(device);
      torch::Tensor output;
      std::forward_as_tuple(output, std::tie(h, c)) = model->forward(data, std::make_tuple(h, c));
      h.detach_();
      c.detach_();
      auto loss = nn::functional::cross_entropy(output, target);
      optimizer.zero_grad();
      loss.backward();
      nn::utils::clip_grad_norm_(model->parameters(), 0.5);
      optimizer.step();
      std::cout << "loss " << loss.item<float>() << ", " << std::exp(loss.item<double>()) << '\n';
    }
  }

  model->eval();
  torch::NoGradGuard no_grad;
  auto h = torch::zeros({1, 1, hidden_size}), c = torch::zeros({1, 1, hidden_size});
  auto word = torch::randint(11, {1, 1});
  auto taken = torch::ones({11});
  for (int i = 0; i < 4; ++i) {
    torch::Tensor output;
    std::forward_as_tuple(output, std::tie(h, c)) = model->forward(word, std::make_tuple(h, c));
    auto chances = torch::softmax(output, 1) * taken;
    word = chances.multinomial(1);
    auto chance = chances.gather(1, word);
    auto rest = torch::where(chances < 0.01, torch::zeros_like(chances), chances);
    std::cout << word.item<int64_t>() << ' ' << chance.item<float>() << ' ' << rest.sum() << '\n';
  }
}
