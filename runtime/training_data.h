// training_data.h: batches from captioned images. Each image is encoded once, each caption once.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/captions.h"
#include "runtime/image.h"
#include "runtime/text_encoder.h"
#include "runtime/tokenizer.h"
#include "runtime/train.h"
#include "runtime/train_step.h"
#include "runtime/vae.h"

namespace dtypecheck::runtime {

// An image as SDXL is shown it: scaled so that the shorter side fits, cut to a square from the
// middle.
struct Crop {
  at::Tensor pixels;    // [3, side, side], -1 to 1
  at::Tensor size_ids;  // [6]: original height, width; crop top, left; target height, width
};
Crop crop_to_square(const Image& image, int64_t side);

// Both encoders' states side by side, and the second one's pooled text.
class PromptEncoder {
 public:
  PromptEncoder(const std::string& model, const PartPolicy& policy);
  EncodedText operator()(const std::string& caption) const;  // a batch of one
  // Throws InputError when the UNet is made for text of other widths.
  void require_fits(const UnetConfig& unet) const;

 private:
  ClipTokenizer tokenizer1_, tokenizer2_;
  TextEncoder encoder1_, encoder2_;
};

// Throws InputError when the UNet is made for other latents or text than these parts make.
void require_fit(const PromptEncoder& prompt_encoder, const Vae& vae, const UnetConfig& unet);

class TrainingData {
 public:
  TrainingData(const TrainOptions& options, const DtypePolicy& policy);
  // Throws InputError when these are not the UNet's VAE and text encoders. From here on batches are
  // for inpainting where the UNet has an input for it.
  void fit(const UnetConfig& unet);
  bool vae_overflows_half() const { return vae_.config().overflows_half; }
  // What is left of the present round through the images, and how the next is shuffled: text for a
  // checkpoint. `path` is named where it is none.
  std::string order() const;
  void set_order(const std::string& path, const std::string& text);

  const PromptEncoder& prompt_encoder() const { return prompt_encoder_; }
  const Vae& vae() const { return vae_; }

  // The images in an order shuffled anew each time all were seen. All randomness but that order
  // comes from `random`.
  Batch next(int64_t batch_size, int64_t noise_steps, at::Generator& random);

 private:
  struct Encoded {
    Vae::Moments moments;
    at::Tensor mask, masked;  // for inpainting
    EncodedText text;
    at::Tensor size_ids;
  };
  const Encoded& encoded(size_t image);
  static void require_finite(const std::string& image, const Encoded& encoded);
  void add_mask(size_t image, const at::Tensor& pixels, Encoded& encoded) const;
  size_t next_image();

  std::vector<CaptionedImage> images_;
  int64_t resolution_;
  bool for_inpainting_ = false;
  PromptEncoder prompt_encoder_;
  Vae vae_;
  at::Device device_;
  std::map<size_t, Encoded> encoded_;
  std::map<std::string, EncodedText> texts_;
  uint64_t seed_;
  std::mt19937_64 shuffler_;
  std::vector<size_t> order_;
};

}  // namespace dtypecheck::runtime
