#include "runtime/training_data.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "platform/error.h"

namespace dtypecheck::runtime {

Crop crop_to_square(const Image& image, int64_t side) {
  const int64_t shorter = std::min(image.width, image.height);
  const int64_t height = image.height * side / shorter, width = image.width * side / shorter;
  at::Tensor pixels = at::from_blob(const_cast<uint8_t*>(image.rgb.data()),
                                    {image.height, image.width, 3}, at::kByte)
                          .to(kBorderDtype)
                          .permute({2, 0, 1})
                          .unsqueeze(0);
  pixels = at::_upsample_bilinear2d_aa(pixels.contiguous(), {height, width}, false);
  const auto middle = [&](int64_t size) {  // half to even, as Python rounds
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(size - side) / 2));
  };
  const int64_t top = middle(height), left = middle(width);
  pixels = pixels[0].slice(1, top, top + side).slice(2, left, left + side) / 127.5 - 1;
  const std::vector<int64_t> ids = {image.height, image.width, top, left, side, side};
  return {pixels, at::tensor(ids, at::kLong).to(kBorderDtype)};
}

PromptEncoder::PromptEncoder(const std::string& model, const PartPolicy& policy)
    : tokenizer1_(model + "/tokenizer"),
      tokenizer2_(model + "/tokenizer_2"),
      encoder1_(model + "/text_encoder", policy, /*has_projection=*/false),
      encoder2_(model + "/text_encoder_2", policy, /*has_projection=*/true) {}

static at::Tensor tokens_of(const ClipTokenizer& tokenizer, const TextEncoder& encoder,
                            const std::string& caption) {
  const std::vector<int64_t> ids = tokenizer.encode(caption);
  const int64_t most = *std::max_element(ids.begin(), ids.end());
  if (most >= encoder.config().vocabulary || tokenizer.length() > encoder.config().positions) {
    throw InputError(
        fmt::format("the tokenizer gives {} tokens up to number {}, its text encoder "
                    "has {} positions and {} tokens; are they of the same model?",
                    ids.size(), most, encoder.config().positions, encoder.config().vocabulary));
  }
  return at::tensor(ids, at::kLong).unsqueeze(0);
}

EncodedText PromptEncoder::operator()(const std::string& caption) const {
  const EncodedText text1 = encoder1_(tokens_of(tokenizer1_, encoder1_, caption));
  const EncodedText text2 = encoder2_(tokens_of(tokenizer2_, encoder2_, caption));
  return {at::cat({text1.states, text2.states}, -1), text2.pooled};
}

static void require_same(const char* what, int64_t given, const char* key, int64_t expected) {
  if (given == expected) return;
  throw InputError(
      fmt::format("{} of width {}, and a UNet whose {} asks for {}; are they of the "
                  "same model?",
                  what, given, key, expected));
}

void PromptEncoder::require_fits(const UnetConfig& unet) const {
  require_same("text encoders", encoder1_.config().width + encoder2_.config().width,
               "cross_attention_dim", unet.text_width);
  require_same("pooled text", encoder2_.config().projection_width,
               "projection_class_embeddings_input_dim", unet.pooled_width());
}

static bool is_for_inpainting(const Vae& vae, const UnetConfig& unet) {
  return unet.in_channels == 2 * vae.config().latent_channels + 1;
}

void require_fit(const PromptEncoder& prompt_encoder, const Vae& vae, const UnetConfig& unet) {
  const int64_t latents = vae.config().latent_channels;
  prompt_encoder.require_fits(unet);
  if (!is_for_inpainting(vae, unet)) {
    require_same("latents", latents, "in_channels", unet.in_channels);
  }
  require_same("latents", latents, "out_channels", unet.out_channels);
}

void TrainingData::fit(const UnetConfig& unet) {
  require_fit(prompt_encoder_, vae_, unet);
  for_inpainting_ = is_for_inpainting(vae_, unet);
}

TrainingData::TrainingData(const TrainOptions& options, const DtypePolicy& policy)
    : images_(read_captions(options.images, options.prompt)),
      resolution_(options.resolution),
      prompt_encoder_(options.model, policy.text_encoders),
      vae_(options.model + "/vae", policy.vae),
      device_(policy.unet.device),
      seed_(options.seed),
      shuffler_(options.seed) {
  if (resolution_ % vae_.config().pixels_per_latent() != 0) {
    throw InputError(fmt::format("a resolution of {}: this VAE needs a multiple of {}", resolution_,
                                 vae_.config().pixels_per_latent()));
  }
}

// At the image that they come from: a step later nothing tells which part they are of.
void TrainingData::require_finite(const std::string& image, const Encoded& encoded) {
  const auto require = [&](const char* part, const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.isfinite().all().item<bool>()) return;
    throw InputError(
        fmt::format("{}: the {} gives NaN or inf for it; are its weights whole, and "
                    "its policy's dtypes wide enough?",
                    image, part));
  };
  require("vae", encoded.moments.mean);
  require("vae", encoded.moments.logvar);
  require("vae", encoded.masked);
  require("text encoder", encoded.text.states);
  require("text encoder", encoded.text.pooled);
}

const TrainingData::Encoded& TrainingData::encoded(size_t image) {
  const auto known = encoded_.find(image);
  if (known != encoded_.end()) return known->second;
  const c10::NoGradGuard no_grad;
  const CaptionedImage& from = images_[image];
  const Crop crop = crop_to_square(read_image(from.path), resolution_);
  auto text = texts_.find(from.caption);
  if (text == texts_.end()) {
    text = texts_.emplace(from.caption, prompt_encoder_(from.caption)).first;
  }
  const at::Tensor pixels = crop.pixels.unsqueeze(0).to(device_);
  Encoded encoded{
      vae_.encode(pixels), {}, {}, text->second, crop.size_ids.unsqueeze(0).to(device_)};
  if (for_inpainting_) add_mask(image, pixels, encoded);
  require_finite(from.path, encoded);
  return encoded_.emplace(image, std::move(encoded)).first->second;
}

// A box of a quarter of the image to the whole of it is to be painted; the mask is an image and in
// Float, as those are.
void TrainingData::add_mask(size_t image, const at::Tensor& pixels, Encoded& encoded) const {
  const int64_t step = vae_.config().pixels_per_latent(), side = resolution_ / step;
  std::mt19937_64 random(seed_ + image);
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  };
  const int64_t height = (side + 1) / 2 + below(side / 2 + 1);
  const int64_t width = (side + 1) / 2 + below(side / 2 + 1);
  const int64_t top = below(side - height + 1), left = below(side - width + 1);
  encoded.mask = at::zeros({1, 1, side, side}, pixels.options().dtype(kBorderDtype));
  encoded.mask.slice(2, top, top + height).slice(3, left, left + width).fill_(1);
  const at::Tensor in_pixels = at::upsample_nearest2d(encoded.mask, {resolution_, resolution_});
  encoded.masked = vae_.encode(pixels * (1 - in_pixels)).mean * vae_.config().scaling_factor;
}

std::string TrainingData::order() const {
  std::ostringstream text;
  text << shuffler_ << ' ' << order_.size();
  for (const size_t image : order_) text << ' ' << image;
  return text.str();
}

void TrainingData::set_order(const std::string& path, const std::string& text) {
  std::istringstream in(text);
  size_t size = 0;
  std::mt19937_64 shuffler;
  in >> shuffler >> size;
  std::vector<size_t> order;
  for (size_t image; order.size() < size && in >> image && image < images_.size();) {
    order.push_back(image);
  }
  if (!in || order.size() != size) {
    throw InputError(fmt::format("{}: is of other images than these {}", path, images_.size()));
  }
  shuffler_ = shuffler;
  order_ = std::move(order);
}

size_t TrainingData::next_image() {
  if (order_.empty()) {
    order_.resize(images_.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    // Not std::shuffle, whose order is the standard library's own.
    for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[shuffler_() % i]);
  }
  const size_t image = order_.back();
  order_.pop_back();
  return image;
}

Batch TrainingData::next(int64_t batch_size, int64_t noise_steps, at::Generator& random) {
  std::vector<at::Tensor> mean, logvar, text, pooled, size_ids, mask, masked;
  for (int64_t i = 0; i < batch_size; ++i) {
    const Encoded& e = encoded(next_image());
    mean.push_back(e.moments.mean);
    logvar.push_back(e.moments.logvar);
    text.push_back(e.text.states);
    pooled.push_back(e.text.pooled);
    size_ids.push_back(e.size_ids);
    mask.push_back(e.mask);
    masked.push_back(e.masked);
  }
  const at::Tensor means = at::cat(mean);
  const auto normal = [&] { return at::randn(means.sizes(), random, kBorderDtype).to(device_); };
  const at::Tensor sample = means + (0.5 * at::cat(logvar)).exp() * normal();
  Batch batch;
  batch.latents = sample * vae_.config().scaling_factor;
  batch.noise = normal();
  batch.timesteps = at::randint(noise_steps, {batch_size}, random, at::kLong).to(device_);
  batch.text = at::cat(text);
  batch.pooled = at::cat(pooled);
  batch.size_ids = at::cat(size_ids);
  if (for_inpainting_) {
    batch.mask = at::cat(mask);
    batch.masked = at::cat(masked);
  }
  return batch;
}

}  // namespace dtypecheck::runtime
