// t5_encoder.h: T5's text encoder (Raffel et al. 2020; v1.1 with gated GELU, Shazeer 2020), as
// PixArt conditions on it. SDXL has none: it is here for its RMS norm and its Float feed-forward.
#pragma once

#include <string>
#include <vector>

#include "runtime/layers.h"
#include "runtime/model_config.h"
#include "runtime/policy.h"

namespace dtypecheck::runtime {

class T5Encoder {
 public:
  // `folder` has config.json and model.safetensors of transformers' T5EncoderModel; with `invented`
  // weights are drawn from it, and written there.
  T5Encoder(const std::string& folder, const PartPolicy& policy, at::Generator* invented = nullptr);

  // tokens: [batch, n], Long. The states [batch, n, width] in kBorderDtype.
  at::Tensor operator()(const at::Tensor& tokens) const;
  const T5Config& config() const { return config_; }

 private:
  struct T5Block {
    RmsNorm norm1;
    Linear q, k, v, out;
    RmsNorm norm2;
    Linear gate, value, down;  // without a gate only value and down
  };
  at::Tensor attend(const T5Block& block, const at::Tensor& x, const at::Tensor& bias) const;
  at::Tensor feed_forward(const T5Block& block, const at::Tensor& x) const;
  at::Tensor position_bias(int64_t length) const;

  T5Config config_;
  PartPolicy policy_;
  at::Tensor token_table_, distance_table_;
  std::vector<T5Block> blocks_;
  RmsNorm final_norm_;
};

}  // namespace dtypecheck::runtime
