// What programs that train models use of the front end is understood with the bundled headers too.
#include <torch/torch.h>

#include <iomanip>
#include <iostream>

namespace nn = torch::nn;
namespace F = torch::nn::functional;

struct NetImpl : nn::Module {
  explicit NetImpl(int64_t classes) : head(16, classes) {
    features->push_back(nn::Conv2d(nn::Conv2dOptions(3, 16, {3, 3}).stride(2).padding({1, 1})));
    features->push_back(nn::BatchNorm2d(16));
    features->push_back(nn::Functional(torch::relu));
    features->push_back(nn::MaxPool2d(nn::MaxPool2dOptions({2, 2})));
    features->push_back(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({1, 1})));
    register_module("features", features);
    register_module("head", head);
    scale = register_parameter("scale", torch::ones({1}));
    nn::init::kaiming_normal_(head->weight, 0.0, torch::kFanOut);
    for (auto& module : modules(/*self=*/false)) {
      if (auto* layer = module->as<nn::Linear>()) nn::init::constant_(layer->bias, 0);
    }
  }
  torch::Tensor forward(const torch::Tensor& x) {
    auto y = features->forward(x).view({x.size(0), -1});
    y = F::dropout(F::leaky_relu(y, F::LeakyReLUFuncOptions().negative_slope(0.2)), 0.5);
    y = F::interpolate(y.unsqueeze(1), F::InterpolateFuncOptions().size(std::vector<int64_t>{16}));
    return F::log_softmax(head(y.squeeze(1) * scale), /*dim=*/1);
  }
  nn::Sequential features;
  nn::Linear head;
  torch::Tensor scale;
};
TORCH_MODULE(Net);

template <typename Loader>
double run(Net& net, Loader& loader, torch::optim::Optimizer& optimizer, torch::Device device) {
  net->train();
  double total = 0;
  int64_t right = 0;
  for (auto& batch : loader) {
    auto data = batch.data.to(device), target = batch.target.to(device);
    auto output = net(data);
    auto loss = torch::nll_loss(output, target, /*weight=*/{}, torch::Reduction::Sum);
    optimizer.zero_grad();
    loss.backward();
    nn::utils::clip_grad_norm_(net->parameters(), 0.5);
    optimizer.step();
    total += loss.template item<double>();
    auto best = torch::max(output, 1);
    right += std::get<1>(best).eq(target).sum().template item<int64_t>();
  }
  std::cout << std::fixed << std::setprecision(4) << total << ' ' << right << '\n';
  return total;
}

int main() {
  torch::manual_seed(1);
  const auto has_cuda = torch::cuda::is_available();
  torch::Device device(has_cuda ? torch::kCUDA : torch::kCPU);
  Net net(10);
  net->to(device);
  std::cout << *net << net << '\n';
  auto data = torch::data::datasets::MNIST("data", torch::data::datasets::MNIST::Mode::kTest)
                  .map(torch::data::transforms::Normalize<>(0.1307, 0.3081))
                  .map(torch::data::transforms::Stack<>());
  const auto size = data.size().value();
  auto loader = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(data), torch::data::DataLoaderOptions().batch_size(64).workers(2));
  torch::optim::Adam optimizer(net->parameters(),
                               torch::optim::AdamOptions(2e-4).betas({0.5, 0.999}));
  torch::optim::StepLR schedule(optimizer, 10, 0.1);
  for (auto& group : optimizer.param_groups()) {
    static_cast<torch::optim::AdamOptions&>(group.options()).lr(1e-3);
  }
  std::cout << run(net, *loader, optimizer, device) / static_cast<double>(size);
  schedule.step();
  net->eval();
  torch::NoGradGuard no_grad;
  torch::save(net, "net.pt");
  torch::save(optimizer, "optimizer.pt");
  torch::load(net, "net.pt");
  for (const auto& parameter : net->named_parameters())
    std::cout << parameter.key() << parameter.value().sizes() << '\n';
  auto x = torch::tensor({{1.0, 2.0}, {3.0, 4.0}}, torch::requires_grad());
  auto grad = torch::autograd::grad({(x * x).sum()}, {x});
  std::cout << grad[0] << x.grad() << x.index({torch::indexing::Slice(), 0}) << x[0].item() << '\n';
}

// Options by their family, functional layers with options, and what a program asks of a module.
nn::Conv2dOptions narrow(nn::ConvOptions<2> options) { return options.stride(2).padding({1, 1}); }

torch::Tensor more(NetImpl& net, torch::ExpandingArray<2> size) {
  nn::BatchNorm2d norm(nn::BatchNormOptions(16).eps(1e-3).momentum(0.1));
  nn::Conv2d conv(narrow(nn::Conv2dOptions(3, 16, size)));
  auto table = nn::Embedding::from_pretrained(torch::rand({3, 4}));
  nn::ConvTranspose2d up(nn::ConvTranspose2dOptions(16, 3, 3).stride(2));
  auto x = torch::normal(0.0, 1.0, {1, 3, 8, 8});
  std::cout << x.options() << conv->options.in_channels() << TORCH_VERSION_MAJOR;
  for (auto& child : net.children()) {
    if (auto* inner = child->as<NetImpl>()) inner->eval();
  }
  auto y = F::conv2d(norm(conv(x)), torch::rand({16, 16, 3, 3}), F::Conv2dFuncOptions().stride(1));
  std::vector<int64_t> wanted(y.sizes().begin(), y.sizes().end());
  TORCH_CHECK(y.sizes() == wanted && torch::IntArrayRef(wanted.data(), wanted.size()) == wanted);
  std::vector<torch::indexing::TensorIndex> first = {0, torch::indexing::Slice()};
  return up->forward(y.index(first), std::vector<int64_t>{16, 16});
}

// What a program asks of LibTorch as a whole, windows of a spectrogram, lists in lists.
torch::Tensor spectrum(torch::jit::Module& model, torch::Tensor wave) {
  at::globalContext().setBenchmarkCuDNN(true);
  at::globalContext().setAllowTF32CuBLAS(!at::globalContext().deterministicCuDNN());
  at::globalContext().setDeterministicAlgorithms(true, true);
  model.get_method("reset")({});
  c10::Scalar none;
  auto window = torch::hann_window(400, torch::TensorOptions().dtype(torch::kFloat));
  auto grid = torch::tensor({{{{0.5f, 1.5f}, {2.5f, 3.5f}}, {{4.5f, 5.5f}, {6.5f, 7.5f}}}});
  std::vector<torch::Tensor> parts = torch::split(wave * window, std::vector<int64_t>{3, 5}, 1);
  auto pairs = torch::unbind(torch::triu_indices(4, 4), 0);
  std::cout << wave.type() << grid.to(wave.device()) << pairs[0] << none;
  return torch::vstack({torch::hstack({parts[0], parts[1]}), torch::concat({wave, window})});
}
