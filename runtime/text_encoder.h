// text_encoder.h: CLIP's text transformer (Radford et al. 2021), as SDXL conditions on it.
#pragma once

#include <string>
#include <vector>

#include "runtime/layers.h"
#include "runtime/model_config.h"
#include "runtime/policy.h"

namespace dtypecheck::runtime {

struct EncodedText {
  at::Tensor states;  // [batch, tokens, width]: what enters the last layer, without the final norm
  at::Tensor pooled;  // [batch, projection]: the end token's last state, projected; or undefined
};

class TextEncoder {
 public:
  // `folder` has config.json and model.safetensors; only the second encoder of SDXL has a
  // projection. With `invented` weights are drawn from it, and written there.
  TextEncoder(const std::string& folder, const PartPolicy& policy, bool has_projection,
              at::Generator* invented = nullptr);

  // tokens: [batch, at most positions], Long. Both results in kBorderDtype.
  EncodedText operator()(const at::Tensor& tokens) const;
  const TextEncoderConfig& config() const { return config_; }

 private:
  struct Layer {
    LayerNorm norm1;
    Linear q, k, v, out;
    LayerNorm norm2;
    Linear mlp1, mlp2;
  };
  at::Tensor run_layer(const Layer& layer, const at::Tensor& x, const at::Tensor& mask) const;
  at::Tensor activate(const at::Tensor& x) const;
  at::Tensor end_positions(const at::Tensor& tokens) const;

  TextEncoderConfig config_;
  PartPolicy policy_;
  at::Tensor token_table_, position_table_;
  std::vector<Layer> layers_;
  LayerNorm final_norm_;
  Linear projection_;
};

}  // namespace dtypecheck::runtime
