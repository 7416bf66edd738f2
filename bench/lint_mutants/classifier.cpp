// A small convolutional network learns to tell digits that are drawn at random.
#include <torch/torch.h>

#include <cstdio>

struct Digits : torch::data::datasets::Dataset<Digits> {
  explicit Digits(int64_t count)
      : images(torch::rand({count, 1, 12, 12})),
        labels(torch::randint(10, {count}, torch::kLong)) {}

  torch::data::Example<> get(size_t index) override {
    return {images[static_cast<int64_t>(index)], labels[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return images.size(0); }

  torch::Tensor images, labels;
};

struct Net : torch::nn::Module {
  Net()
      : conv1(torch::nn::Conv2dOptions(1, 6, 3)),
        conv2(torch::nn::Conv2dOptions(6, 8, 3).padding(1)),
        norm(8),
        fc1(8 * 2 * 2, 16),
        fc2(16, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("norm", norm);
    register_module("drop", drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(norm->forward(conv2->forward(x)), 2));
    x = x.view({-1, 8 * 2 * 2});
    x = torch::relu(drop->forward(fc1->forward(x)));
    x = fc2->forward(x);
    return torch::log_softmax(x, /*dim=*/1);
  }

  torch::nn::Conv2d conv1;
  torch::nn::Conv2d conv2;
  torch::nn::BatchNorm2d norm;
  torch::nn::Dropout drop;
  torch::nn::Linear fc1;
  torch::nn::Linear fc2;
};

template <typename Loader>
void train(Net& model, torch::Device device, Loader& loader, torch::optim::Optimizer& optimizer) {
  model.train();
  for (auto& batch : loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    optimizer.zero_grad();
    auto output = model.forward(data);
    auto loss = torch::nll_loss(output, targets);
    loss.backward();
    optimizer.step();
    std::printf("loss %.4f\n", loss.template item<float>());
  }
}

template <typename Loader>
void test(Net& model, torch::Device device, Loader& loader) {
  torch::NoGradGuard no_grad;
  model.eval();
  double total = 0;
  int64_t correct = 0;
  for (const auto& batch : loader) {
    auto data = batch.data.to(device), targets = batch.target.to(device);
    auto output = model.forward(data);
    total += torch::nll_loss(output, targets, /*weight=*/{}, torch::Reduction::Sum)
                 .template item<float>();
    auto guess = output.argmax(1);
    auto sure = output.masked_select(guess.eq(targets).unsqueeze(1));
    correct += sure.numel() / 10;
  }
  std::printf("test %.4f, %ld right\n", total, static_cast<long>(correct));
}

int main() {
  torch::manual_seed(1);
  torch::Device device(torch::kCPU);
  Net model;
  model.to(device);

  auto digits = Digits(64)
                    .map(torch::data::transforms::Normalize<>(0.5, 0.25))
                    .map(torch::data::transforms::Stack<>());
  auto train_loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(digits), 16);
  auto others = Digits(32).map(torch::data::transforms::Stack<>());
  auto test_loader = torch::data::make_data_loader(std::move(others), 16);

  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  for (int epoch = 0; epoch < 2; ++epoch) {
    train(model, device, *train_loader, optimizer);
    test(model, device, *test_loader);
  }
}
