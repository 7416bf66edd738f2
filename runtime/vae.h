// vae.h: the autoencoder between pixels and latents (Rombach et al. 2022, Kingma and Welling 2014).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/layers.h"
#include "runtime/model_config.h"
#include "runtime/policy.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {

class Vae {
 public:
  Vae(const std::string& folder, const PartPolicy& policy, at::Generator* invented = nullptr);

  struct Moments {
    at::Tensor mean, logvar;  // [batch, latent channels, height / 8, width / 8] for SDXL
  };
  // pixels: [batch, 3, height, width] from -1 to 1. In kBorderDtype, not yet scaled.
  Moments encode(const at::Tensor& pixels) const;
  // latents: as the mean, not scaled. Pixels in kBorderDtype.
  at::Tensor decode(const at::Tensor& latents) const;
  const VaeConfig& config() const { return config_; }

 private:
  struct ResBlock {
    GroupNorm norm1;
    Conv2d conv1;
    GroupNorm norm2;
    Conv2d conv2;
    std::optional<Conv2d> shortcut;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct Attention {
    GroupNorm norm;
    Linear q, k, v, out;
    AttentionPolicy policy;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  struct VaeLevel {
    std::vector<ResBlock> blocks;
    std::optional<Conv2d> resample;
  };
  struct Coder {  // the encoder or the decoder
    Conv2d in;
    std::vector<VaeLevel> levels;
    std::vector<ResBlock> middle;
    std::vector<Attention> middle_attention;
    GroupNorm norm;
    Conv2d out;
  };
  ResBlock read_block(Weights& w, const std::string& name, int64_t in, int64_t out) const;
  void read_middle(Weights& w, const std::string& name, Coder& coder) const;
  Coder read_encoder(Weights& w) const;
  Coder read_decoder(Weights& w) const;
  static at::Tensor run_middle(const Coder& coder, const at::Tensor& x);

  VaeConfig config_;
  Coder encoder_, decoder_;
  Conv2d quant_, post_quant_;
};

}  // namespace dtypecheck::runtime
