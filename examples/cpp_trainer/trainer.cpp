// Trains LoRA factors of a small text-to-image denoiser with LibTorch, in the shape of SDXL: a text
// encoder, a transformer block with self and cross attention, noise prediction, AdamW. The data is
// random; the dtypes are what it is about.
//
//     ./cpp_trainer --dtype bfloat16 --steps 3
//     dtypecheck trace -- ./cpp_trainer --dtype half --text_dtype float
//
// Who is kept in which dtype, and why:
//     frozen weights    --dtype, those of the text encoder --text_dtype
//     LoRA factors      float32: a step is far smaller than half the spacing of 16-bit numbers
//     noise and loss    float32
// --text_dtype other than --dtype is a mistake on purpose: nobody casts the text before it meets
// the denoiser's weights.
#include <torch/torch.h>

#include <cmath>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

using torch::Tensor;

struct Options {
  torch::Dtype dtype = torch::kFloat;
  torch::Dtype text_dtype = torch::kFloat;
  int steps = 3;
};

constexpr int64_t kWidth = 64, kHeads = 4, kTokens = 16, kVocabulary = 128, kPixels = 64;
constexpr int64_t kChannels = 4, kRank = 4, kBatch = 2, kTimesteps = 1000;

// A frozen linear layer with a low-rank correction that is trained, and kept and computed in
// float32.
struct LoraLinearImpl : torch::nn::Module {
  LoraLinearImpl(int64_t inputs, int64_t outputs)
      : base(register_module("base", torch::nn::Linear(inputs, outputs))),
        down(register_parameter("lora_down", torch::randn({kRank, inputs}) / std::sqrt(inputs))),
        up(register_parameter("lora_up", torch::zeros({outputs, kRank}))) {}

  Tensor forward(const Tensor& x) {
    const Tensor correction = torch::matmul(torch::matmul(x.to(torch::kFloat), down.t()), up.t());
    return base(x) + correction.to(x.scalar_type());
  }

  torch::nn::Linear base;
  Tensor down, up;
};
TORCH_MODULE(LoraLinear);

struct AttentionImpl : torch::nn::Module {
  AttentionImpl()
      : to_q(register_module("to_q", LoraLinear(kWidth, kWidth))),
        to_k(register_module("to_k", LoraLinear(kWidth, kWidth))),
        to_v(register_module("to_v", LoraLinear(kWidth, kWidth))),
        to_out(register_module("to_out", LoraLinear(kWidth, kWidth))) {}

  Tensor forward(const Tensor& x, const Tensor& context) {
    const Tensor q = split_heads(to_q(x));
    const Tensor k = split_heads(to_k(context));
    const Tensor v = split_heads(to_v(context));
    const Tensor scores = torch::matmul(q, k.transpose(-1, -2)) / std::sqrt(kWidth / kHeads);
    const Tensor weights = torch::softmax(scores, -1, torch::kFloat).to(v.scalar_type());
    return to_out(torch::matmul(weights, v).transpose(1, 2).flatten(2));
  }

  static Tensor split_heads(const Tensor& x) {
    return x.unflatten(-1, {kHeads, kWidth / kHeads}).transpose(1, 2);
  }

  LoraLinear to_q, to_k, to_v, to_out;
};
TORCH_MODULE(Attention);

struct TextEncoderImpl : torch::nn::Module {
  TextEncoderImpl()
      : token_embedding(
            register_module("token_embedding", torch::nn::Embedding(kVocabulary, kWidth))),
        position(register_parameter("position", torch::randn({kTokens, kWidth}) * 0.1)),
        norm(register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})))),
        projection(register_module("projection", torch::nn::Linear(kWidth, kWidth))) {}

  Tensor forward(const Tensor& tokens) {
    const Tensor embedded = token_embedding(tokens) + position;
    return projection(norm(embedded));
  }

  torch::nn::Embedding token_embedding;
  Tensor position;
  torch::nn::LayerNorm norm;
  torch::nn::Linear projection;
};
TORCH_MODULE(TextEncoder);

struct DenoiserImpl : torch::nn::Module {
  DenoiserImpl()
      : conv_in(register_module("conv_in", torch::nn::Linear(kChannels, kWidth))),
        time_embedding(register_module("time_embedding", torch::nn::Linear(kWidth, kWidth))),
        norm1(
            register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})))),
        norm2(
            register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})))),
        attn1(register_module("attn1", Attention())),
        attn2(register_module("attn2", Attention())),
        conv_out(register_module("conv_out", torch::nn::Linear(kWidth, kChannels))) {}

  Tensor forward(const Tensor& latents, const Tensor& timesteps, const Tensor& text) {
    const Tensor time = embed_time(timesteps).to(latents.scalar_type());
    Tensor x = conv_in(latents) + torch::silu(time_embedding(time)).unsqueeze(1);
    const Tensor normed = norm1(x);
    x = x + attn1(normed, normed);
    x = x + attn2(norm2(x), text);
    return conv_out(x);
  }

  static Tensor embed_time(const Tensor& timesteps) {
    const Tensor rates =
        torch::exp(torch::arange(kWidth / 2) * (-std::log(10000.0) / (kWidth / 2)));
    const Tensor angles = timesteps.to(torch::kFloat).unsqueeze(1) * rates;
    return torch::cat({torch::cos(angles), torch::sin(angles)}, -1);
  }

  torch::nn::Linear conv_in, time_embedding;
  torch::nn::LayerNorm norm1, norm2;
  Attention attn1, attn2;
  torch::nn::Linear conv_out;
};
TORCH_MODULE(Denoiser);

// Freezes and casts what is not LoRA; gives back what is to be trained.
std::vector<Tensor> prepare(torch::nn::Module& model, torch::Dtype dtype) {
  std::vector<Tensor> trained;
  for (auto& named : model.named_parameters()) {
    if (named.key().find("lora_") != std::string::npos) {
      trained.push_back(named.value());
    } else {
      named.value().set_requires_grad(false).set_data(named.value().to(dtype));
    }
  }
  return trained;
}

Tensor add_noise(const Tensor& latents, const Tensor& noise, const Tensor& timesteps) {
  const Tensor betas = torch::linspace(std::sqrt(0.00085), std::sqrt(0.012), kTimesteps).square();
  const Tensor kept = torch::cumprod(1 - betas, 0).index({timesteps}).view({-1, 1, 1});
  return kept.sqrt() * latents + (1 - kept).sqrt() * noise;
}

float train_step(const Options& options, TextEncoder& text_encoder, Denoiser& denoiser,
                 torch::optim::AdamW& optimizer) {
  const Tensor tokens = torch::randint(kVocabulary, {kBatch, kTokens}, torch::kLong);
  const Tensor latents = torch::randn({kBatch, kPixels, kChannels});
  const Tensor noise = torch::randn_like(latents);
  const Tensor timesteps = torch::randint(kTimesteps, {kBatch}, torch::kLong);

  const Tensor text = text_encoder(tokens);
  const Tensor noisy = add_noise(latents, noise, timesteps).to(options.dtype);
  const Tensor predicted = denoiser(noisy, timesteps, text);
  const Tensor loss = torch::mse_loss(predicted.to(torch::kFloat), noise);

  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
  return loss.item<float>();
}

void train(const Options& options) {
  torch::manual_seed(0);
  TextEncoder text_encoder;
  Denoiser denoiser;
  prepare(*text_encoder, options.text_dtype);
  torch::optim::AdamW optimizer(prepare(*denoiser, options.dtype),
                                torch::optim::AdamWOptions(1e-3));
  for (int step = 1; step <= options.steps; ++step) {
    const float loss = train_step(options, text_encoder, denoiser, optimizer);
    std::cout << "step " << step << " loss " << loss << std::endl;
  }
}

torch::Dtype parse_dtype(const std::string& name) {
  if (name == "float") return torch::kFloat;
  if (name == "half") return torch::kHalf;
  if (name == "bfloat16") return torch::kBFloat16;
  throw std::invalid_argument("dtype " + name + ": expected float, half or bfloat16");
}

Options parse_options(int argc, char** argv) {
  Options options;
  bool has_text_dtype = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--dtype") {
      options.dtype = parse_dtype(value);
    } else if (name == "--text_dtype") {
      options.text_dtype = parse_dtype(value);
      has_text_dtype = true;
    } else if (name == "--steps") {
      options.steps = std::stoi(value);
    } else {
      throw std::invalid_argument("option " + name + ": expected --dtype, --text_dtype or --steps");
    }
  }
  if (argc % 2 == 0)
    throw std::invalid_argument(std::string(argv[argc - 1]) + ": expected a value after it");
  if (!has_text_dtype) options.text_dtype = options.dtype;
  return options;
}

int main(int argc, char** argv) {
  try {
    train(parse_options(argc, argv));
  } catch (const c10::Error& error) {
    std::cerr << "cpp_trainer: " << error.what_without_backtrace() << "\n";
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "cpp_trainer: " << error.what() << "\n";
    return 1;
  }
}
