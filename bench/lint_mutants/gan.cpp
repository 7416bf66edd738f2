// Two networks, one of which draws what the other is to tell from samples.
#include <torch/torch.h>

#include <iostream>

struct GeneratorImpl : torch::nn::Module {
  explicit GeneratorImpl(int64_t noise)
      : conv1(torch::nn::ConvTranspose2dOptions(noise, 16, 3).bias(false)),
        norm1(16),
        conv2(torch::nn::ConvTranspose2dOptions(16, 1, 4).stride(2).padding(1).bias(false)) {
    register_module("conv1", conv1);
    register_module("norm1", norm1);
    register_module("conv2", conv2);
  }

  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(norm1(conv1(x)));
    x = torch::tanh(conv2(x));
    return x;
  }

  torch::nn::ConvTranspose2d conv1;
  torch::nn::BatchNorm2d norm1;
  torch::nn::ConvTranspose2d conv2;
};
TORCH_MODULE(Generator);

torch::nn::Sequential make_discriminator() {
  return torch::nn::Sequential(
      torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 8, 4).stride(2).padding(1).bias(false)),
      torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)),
      torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 1, 3).bias(false)), torch::nn::Sigmoid());
}

int main() {
  torch::manual_seed(1);
  torch::Device device(torch::kCPU);
  const int64_t noise_size = 12, batch_size = 4;

  Generator generator(noise_size);
  generator->to(device);
  auto discriminator = make_discriminator();
  discriminator->to(device);

  torch::optim::Adam generator_optimizer(generator->parameters(),
                                         torch::optim::AdamOptions(2e-4).betas({0.5, 0.5}));
  torch::optim::Adam discriminator_optimizer(discriminator->parameters(),
                                             torch::optim::AdamOptions(2e-4));

  auto real = torch::rand({16, 1, 6, 6}, device);
  for (int64_t step = 0; step < 4; ++step) {
    discriminator->zero_grad();
    auto images = real.narrow(0, step * batch_size, batch_size);
    auto real_labels = torch::empty(batch_size, device).uniform_(0.8, 1.0);
    auto real_output = discriminator->forward(images).reshape(real_labels.sizes());
    auto real_loss = torch::binary_cross_entropy(real_output, real_labels);
    real_loss.backward();

    auto noise = torch::randn({batch_size, noise_size, 1, 1}, device);
    auto fake_images = generator->forward(noise);
    auto fake_labels = torch::zeros(batch_size, device);
    auto fake_output = discriminator->forward(fake_images.detach()).reshape(fake_labels.sizes());
    auto fake_loss = torch::binary_cross_entropy(fake_output, fake_labels);
    fake_loss.backward();
    auto total = real_loss + fake_loss;
    discriminator_optimizer.step();

    generator->zero_grad();
    fake_labels.fill_(1);
    fake_output = discriminator->forward(fake_images).reshape(fake_labels.sizes());
    auto generator_loss = torch::binary_cross_entropy(fake_output, fake_labels);
    generator_loss.backward();
    generator_optimizer.step();
    std::cout << "losses " << total.item<float>() << ' ' << generator_loss.item<float>() << '\n';
  }
}
