#include "runtime/t5_encoder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "runtime/weights.h"

namespace dtypecheck::runtime {

// A last feed-forward layer in Half overflows, so that T5's is kept in Float whatever the policy.
static PartPolicy in_float(PartPolicy policy) {
  policy.stored = policy.compute = kBorderDtype;
  return policy;
}

T5Encoder::T5Encoder(const std::string& folder, const PartPolicy& policy, at::Generator* invented)
    : config_(read_t5_config(folder)), policy_(policy) {
  const T5Config& c = config_;
  const int64_t inner = c.heads * c.head_width;
  Weights w(folder, "model", policy, invented);
  w.ignore("encoder.embed_tokens.weight");  // the same as shared.weight
  token_table_ = w.embedding("shared", c.vocabulary, c.width, /*is_token_table=*/true);
  distance_table_ = w.embedding("encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
                                c.distance_buckets, c.heads);
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string self = fmt::format("encoder.block.{}.layer.0.", i);
    const std::string mlp = fmt::format("encoder.block.{}.layer.1.", i);
    T5Block block;
    block.norm1 = w.rms_norm(self + "layer_norm", c.width, c.norm_eps);
    block.q = w.linear(self + "SelfAttention.q", c.width, inner, false);
    block.k = w.linear(self + "SelfAttention.k", c.width, inner, false);
    block.v = w.linear(self + "SelfAttention.v", c.width, inner, false);
    block.out = w.linear(self + "SelfAttention.o", inner, c.width, false);
    block.norm2 = w.rms_norm(mlp + "layer_norm", c.width, c.norm_eps);
    const std::string dense = mlp + "DenseReluDense.";
    if (c.gated) block.gate = w.linear(dense + "wi_0", c.width, c.mlp_width, false);
    block.value = w.linear(dense + (c.gated ? "wi_1" : "wi"), c.width, c.mlp_width, false);
    block.down = w.linear(dense + "wo", c.mlp_width, c.width, false, in_float(policy));
    blocks_.push_back(std::move(block));
  }
  final_norm_ = w.rms_norm("encoder.final_layer_norm", c.width, c.norm_eps);
  w.require_all_used();
}

// Which of the learned distances is meant: small ones one by one, large ones by their logarithm,
// and as many for what lies behind as for what lies ahead.
static at::Tensor distance_buckets(int64_t length, int64_t buckets, int64_t most) {
  const at::Tensor places = at::arange(length, at::kLong);
  const at::Tensor ahead = places.unsqueeze(0) - places.unsqueeze(1);
  const at::Tensor far = ahead.abs();
  const int64_t half = buckets / 2, exact = half / 2;
  const double step = std::log(static_cast<double>(most) / static_cast<double>(exact));
  const at::Tensor log = (far.to(kBorderDtype) / static_cast<double>(exact)).clamp_min(1).log();
  const at::Tensor coarse =
      ((log / step * static_cast<double>(half - exact)).to(at::kLong) + exact).clamp_max(half - 1);
  return at::where(far.lt(exact), far, coarse) + ahead.gt(0).to(at::kLong) * half;
}

at::Tensor T5Encoder::position_bias(int64_t length) const {
  const at::Tensor buckets =
      distance_buckets(length, config_.distance_buckets, config_.farthest_distance);
  return at::embedding(distance_table_, buckets).permute({2, 0, 1});  // [heads, n, n]
}

// Scores are not scaled: T5's weights are initialised so that they need not be.
at::Tensor T5Encoder::attend(const T5Block& block, const at::Tensor& x,
                             const at::Tensor& bias) const {
  const auto heads = [&](const at::Tensor& y) {
    return y.view({y.size(0), y.size(1), config_.heads, config_.head_width}).transpose(1, 2);
  };
  const at::Tensor scores = at::matmul(heads(block.q(x)), heads(block.k(x)).transpose(2, 3));
  const at::Tensor weights =
      at::softmax(cast(scores, policy_.norms()) + cast(bias, policy_.norms()), -1);
  const at::Tensor v = heads(block.v(x));
  const at::Tensor mixed = at::matmul(weights.to(v.scalar_type()), v).transpose(1, 2);
  return block.out(mixed.reshape({x.size(0), x.size(1), -1}));
}

at::Tensor T5Encoder::feed_forward(const T5Block& block, const at::Tensor& x) const {
  if (!config_.gated) return block.down(at::relu(block.value(x)).to(kBorderDtype));
  // The last layer's own dtype is asked for, as transformers does it.
  const at::Tensor h = at::gelu(block.gate(x), "tanh") * block.value(x);
  return block.down(h.to(kBorderDtype));
}

at::Tensor T5Encoder::operator()(const at::Tensor& tokens) const {
  const at::Tensor bias = position_bias(tokens.size(1));
  at::Tensor x = cast(at::embedding(token_table_, tokens), policy_.residuals());
  for (const T5Block& block : blocks_) {
    x = x + cast(attend(block, block.norm1(x), bias), policy_.residuals());
    x = x + cast(feed_forward(block, block.norm2(x)), policy_.residuals());
  }
  return final_norm_(x).to(kBorderDtype);
}

}  // namespace dtypecheck::runtime
