#include "runtime/text_encoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <limits>

#include "runtime/weights.h"

namespace dtypecheck::runtime {

TextEncoder::TextEncoder(const std::string& folder, const PartPolicy& policy, bool has_projection,
                         at::Generator* invented)
    : config_(read_text_encoder_config(folder)), policy_(policy) {
  const TextEncoderConfig& c = config_;
  Weights w(folder, "model", policy, invented);
  w.set_optional_prefix("text_model.");
  w.ignore("embeddings.position_ids");
  token_table_ =
      w.embedding("embeddings.token_embedding", c.vocabulary, c.width, /*is_token_table=*/true);
  position_table_ = w.embedding("embeddings.position_embedding", c.positions, c.width);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string at = fmt::format("encoder.layers.{}.", i);
    layers_.push_back({w.layer_norm(at + "layer_norm1", c.width, c.norm_eps),
                       w.linear(at + "self_attn.q_proj", c.width, c.width),
                       w.linear(at + "self_attn.k_proj", c.width, c.width),
                       w.linear(at + "self_attn.v_proj", c.width, c.width),
                       w.linear(at + "self_attn.out_proj", c.width, c.width),
                       w.layer_norm(at + "layer_norm2", c.width, c.norm_eps),
                       w.linear(at + "mlp.fc1", c.width, c.mlp_width),
                       w.linear(at + "mlp.fc2", c.mlp_width, c.width)});
  }
  final_norm_ = w.layer_norm("final_layer_norm", c.width, c.norm_eps);
  w.set_optional_prefix("");
  if (has_projection) projection_ = w.linear("text_projection", c.width, c.projection_width, false);
  w.require_all_used();
}

at::Tensor TextEncoder::activate(const at::Tensor& x) const {
  if (config_.activation == TextEncoderConfig::Activation::kGelu) return at::gelu(x);
  return x * at::sigmoid(1.702 * x);
}

at::Tensor TextEncoder::run_layer(const Layer& layer, const at::Tensor& x,
                                  const at::Tensor& mask) const {
  const at::Tensor in = layer.norm1(x);
  const at::Tensor h = x + layer.out(attention(layer.q(in), layer.k(in), layer.v(in), config_.heads,
                                               policy_.attention(), mask));
  return h + layer.mlp2(activate(layer.mlp1(layer.norm2(h))));
}

// Where each text ends. Published configs say that the end token is 2, which it never was: there it
// is the largest token.
at::Tensor TextEncoder::end_positions(const at::Tensor& tokens) const {
  if (config_.end_token == 2) return tokens.argmax(-1);
  return tokens.eq(config_.end_token).to(at::kInt).argmax(-1);  // the first of them
}

EncodedText TextEncoder::operator()(const at::Tensor& given) const {
  const at::Tensor tokens = given.to(policy_.device);
  const int64_t length = tokens.size(1);
  const at::Tensor mask = at::full({length, length}, -std::numeric_limits<float>::infinity(),
                                   tokens.options().dtype(policy_.norm))
                              .triu(1);
  at::Tensor x = cast(at::embedding(token_table_, tokens), policy_.norms()) +
                 cast(position_table_.slice(0, 0, length), policy_.norms());
  x = cast(x, policy_.computes());
  EncodedText out;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (i + 1 == layers_.size()) out.states = x.to(kBorderDtype);
    x = run_layer(layers_[i], x, mask);
  }
  if (!projection_.weight.defined()) return out;
  const at::Tensor rows = at::arange(tokens.size(0), tokens.options());
  const at::Tensor ends = final_norm_(x).index({rows, end_positions(tokens)});
  out.pooled = projection_(ends).to(kBorderDtype);
  return out;
}

}  // namespace dtypecheck::runtime
