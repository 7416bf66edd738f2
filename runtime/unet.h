// unet.h: SDXL's denoiser (Podell et al. 2023): a UNet whose inner levels have transformers that
// look at the text, and get time, size and pooled text through one embedding.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/layers.h"
#include "runtime/model_config.h"
#include "runtime/policy.h"
#include "runtime/recompute.h"
#include "runtime/weights.h"

namespace dtypecheck::runtime {

struct UnetInput {
  at::Tensor latents;    // [batch, in_channels, height, width]; for inpainting the noisy ones alone
  at::Tensor timesteps;  // [batch], Long
  at::Tensor text;       // [batch, tokens, text_width]
  at::Tensor pooled;     // [batch, added_width - 6 * size_id_width]
  at::Tensor size_ids;   // [batch, 6]: original height, width; crop top, left; target height, width
  // For inpainting: 1 where there is something to paint, [batch, 1, height, width], and the latents
  // of what is around it. Else undefined.
  at::Tensor mask, masked;
};

class Unet {
 public:
  Unet(const std::string& folder, const PartPolicy& policy, at::Generator* invented = nullptr);

  // What the latents' noise (or velocity) is thought to be, in kBorderDtype.
  at::Tensor operator()(const UnetInput& input) const;

  // The four projections of every attention, by their diffusers names:
  // down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_q
  void for_each_projection(const std::function<void(const std::string&, Linear&)>& visit);
  // From now on the backward pass computes each block again, rather than keep what it made.
  void recompute_blocks() { recomputes_ = true; }

  // All weights, by their names in the file.
  const std::vector<std::pair<std::string, at::Tensor>>& tensors() const { return tensors_; }
  const UnetConfig& config() const { return config_; }

 private:
  struct ResBlock {
    GroupNorm norm1;
    Conv2d conv1;
    Linear time;
    GroupNorm norm2;
    Conv2d conv2;
    std::optional<Conv2d> shortcut;
    at::Tensor operator()(const at::Tensor& x, const at::Tensor& embedding) const;
  };
  struct Attention {
    std::string name;
    Linear q, k, v, out;
    int64_t heads;
    AttentionPolicy policy;
    at::Tensor operator()(const at::Tensor& x, const at::Tensor& context) const;
  };
  struct TransformerBlock {
    LayerNorm norm1;
    Attention self;
    LayerNorm norm2;
    Attention cross;
    LayerNorm norm3;
    Linear geglu, out;
    at::Tensor operator()(const at::Tensor& x, const at::Tensor& text) const;
  };
  struct Transformer {
    GroupNorm norm;
    Linear in;
    std::vector<TransformerBlock> blocks;
    Linear out;
    at::Tensor operator()(const at::Tensor& x, const at::Tensor& text) const;
  };
  struct UnetLevel {
    std::vector<ResBlock> blocks;
    std::vector<Transformer> transformers;  // one a block, or none
    std::optional<Conv2d> resample;
  };

  ResBlock read_block(Weights& w, const std::string& name, int64_t in, int64_t out) const;
  Attention read_attention(Weights& w, const std::string& name, const UnetConfig::Level& level,
                           int64_t context_width) const;
  Transformer read_transformer(Weights& w, const std::string& name,
                               const UnetConfig::Level& level) const;
  void read_down(Weights& w);
  void read_middle(Weights& w);
  void read_up(Weights& w);
  at::Tensor run(const Recomputable& block, const at::Tensor& x, const at::Tensor& context) const;
  at::Tensor sample_of(const UnetInput& input) const;
  at::Tensor embed(const UnetInput& input, at::ScalarType dtype) const;

  UnetConfig config_;
  PartPolicy policy_;
  bool recomputes_ = false;
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
  Linear time1_, time2_, added1_, added2_;
  Conv2d in_;
  std::vector<UnetLevel> down_, up_;
  std::vector<int64_t> skip_widths_;  // while reading: of what each block on the way down leaves
  UnetLevel middle_;
  GroupNorm out_norm_;
  Conv2d out_;
};

}  // namespace dtypecheck::runtime
