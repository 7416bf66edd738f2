// Batches have the dtypes that the dataset, its transforms and the built-in MNIST give them.
#include <torch/torch.h>

struct Doubles : torch::data::datasets::Dataset<Doubles> {
  explicit Doubles(int64_t count)
      : images(torch::rand({count, 4}, torch::kDouble)), labels(torch::randint(3, {count})) {}
  torch::data::Example<> get(size_t index) override {
    return {images[static_cast<int64_t>(index)], labels[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return images.size(0); }
  torch::Tensor images, labels;
};

// Whose images come from a file, so that nobody knows them.
struct Files : torch::data::datasets::Dataset<Files> {
  explicit Files(torch::Tensor given) : images(given), labels(given.argmax(1)) {}
  torch::data::Example<> get(size_t index) override {
    return {images[static_cast<int64_t>(index)], labels[static_cast<int64_t>(index)]};
  }
  torch::optional<size_t> size() const override { return images.size(0); }
  torch::Tensor images, labels;
};

template <typename Loader>
void train(Loader& loader) {
  torch::nn::Linear layer(4, 3);
  for (auto& batch : loader) {
    auto output = layer(batch.data);
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    torch::nll_loss(output, batch.target);
  }
}

void own_dataset(torch::Tensor given) {
  auto loader = torch::data::make_data_loader(
      Doubles(8).map(torch::data::transforms::Stack<>()), 4);
  train(*loader);
  torch::nn::Linear layer(4, 3);
  auto files = torch::data::make_data_loader(
      Files(given).map(torch::data::transforms::Stack<>()), 4);
  for (auto& batch : *files) {
    torch::nll_loss(layer(batch.data), batch.target);
    torch::nll_loss(layer(batch.data.to(torch::kFloat)), batch.target.to(torch::kInt));
    // EXPECT error: target is Int, and aten::nll_loss needs Long [mixed-operands]
  }
}

void built_in() {
  auto digits = torch::data::datasets::MNIST("data")
                    .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                    .map(torch::data::transforms::Stack<>());
  auto loader = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      std::move(digits), 64);
  torch::nn::Linear layer(784, 10);
  torch::nn::Linear half(784, 10);
  half->to(torch::kHalf);
  for (auto& batch : *loader) {
    auto data = batch.data.view({-1, 784}), target = batch.target;
    torch::nll_loss(layer(data), target);
    torch::nll_loss(layer(data), data.argmax(1));
    layer(target);
    // EXPECT error: Long input meets a Float weight [refused-dtype]
    half(data);
    // EXPECT error: Float input meets a Half weight [mixed-operands]
  }
  auto doubled = torch::data::datasets::MNIST("data")
                     .map(torch::data::transforms::TensorLambda<>(
                         [](torch::Tensor image) { return image.to(torch::kDouble); }))
                     .map(torch::data::transforms::Stack<>());
  auto others = torch::data::make_data_loader(std::move(doubled), 64);
  for (auto& batch : *others) {
    layer(batch.data);
    // EXPECT error: Double input meets a Float weight [mixed-operands]
    layer(batch.data.to(torch::kFloat));
  }
}
