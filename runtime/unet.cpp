#include "runtime/unet.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace dtypecheck::runtime {

static constexpr double kTransformerNormEps = 1e-6, kLayerNormEps = 1e-5;

// ---- the layers at work

at::Tensor Unet::ResBlock::operator()(const at::Tensor& x, const at::Tensor& embedding) const {
  at::Tensor h = conv1(at::silu(norm1(x)));
  h = h + time(embedding).unsqueeze(-1).unsqueeze(-1);
  h = conv2(at::silu(norm2(h)));
  return (shortcut ? (*shortcut)(x) : x) + h;
}

at::Tensor Unet::Attention::operator()(const at::Tensor& x, const at::Tensor& context) const {
  return out(attention(q(x), k(context), v(context), heads, policy));
}

at::Tensor Unet::TransformerBlock::operator()(const at::Tensor& x, const at::Tensor& text) const {
  at::Tensor in = norm1(x);
  at::Tensor h = x + self(in, in);
  h = h + cross(norm2(h), text);
  const std::vector<at::Tensor> halves = geglu(norm3(h)).chunk(2, -1);  // value, gate
  return h + out(halves[0] * at::gelu(halves[1]));
}

at::Tensor Unet::Transformer::operator()(const at::Tensor& x, const at::Tensor& text) const {
  at::Tensor h = in(norm(x).flatten(2).transpose(1, 2));  // [batch, pixels, channels]
  for (const TransformerBlock& block : blocks) h = block(h, text);
  return x + out(h).transpose(1, 2).reshape(x.sizes());
}

// A number as cosines and sines of falling frequency (Vaswani et al. 2017): [n] to [n, width].
static at::Tensor sinusoid(const at::Tensor& numbers, int64_t width, double frequency_shift,
                           bool cosine_first) {
  const int64_t half = width / 2;
  const at::Tensor exponents = -std::log(10000.0) *
                               at::arange(half, numbers.options().dtype(kBorderDtype)) /
                               (static_cast<double>(half) - frequency_shift);
  const at::Tensor angles = numbers.to(kBorderDtype).unsqueeze(1) * exponents.exp().unsqueeze(0);
  return cosine_first ? at::cat({angles.cos(), angles.sin()}, 1)
                      : at::cat({angles.sin(), angles.cos()}, 1);
}

// What the first convolution sees. Latents come in the UNet's dtype, whoever made them; a mask
// comes as the image it was, which is for the policy's casts to mend.
at::Tensor Unet::sample_of(const UnetInput& input) const {
  const at::Tensor latents = input.latents.to(policy_.compute);
  if (!input.mask.defined()) return latents;
  return at::cat({latents, cast(input.mask, policy_.computes()), input.masked.to(policy_.compute)},
                 1);
}

// What each block's `time` gets, activated already. In kBorderDtype up to the first layer, and
// then in the sample's dtype.
at::Tensor Unet::embed(const UnetInput& input, at::ScalarType dtype) const {
  const auto wave = [&](const at::Tensor& numbers, int64_t width) {
    return sinusoid(numbers, width, config_.frequency_shift, config_.cosine_first);
  };
  const at::Tensor time = wave(input.timesteps, config_.levels.front().width);
  const at::Tensor sizes = wave(input.size_ids.flatten(), config_.size_id_width);
  const at::Tensor added =
      at::cat({input.pooled.to(kBorderDtype), sizes.view({input.size_ids.size(0), -1})}, 1);
  const at::Tensor of_time = time2_(at::silu(time1_(time.to(dtype))));
  return at::silu(of_time + added2_(at::silu(added1_(added.to(dtype)))));
}

at::Tensor Unet::run(const Recomputable& block, const at::Tensor& x,
                     const at::Tensor& context) const {
  return recomputes_ ? recomputed(block, x, context) : block(x, context);
}

at::Tensor Unet::operator()(const UnetInput& input) const {
  const at::Tensor sample = sample_of(input);
  const at::Tensor embedding = embed(input, sample.scalar_type());
  const at::Tensor text = input.text.to(policy_.compute);
  at::Tensor h = in_(sample);
  std::vector<at::Tensor> skips = {h};
  for (const UnetLevel& level : down_) {
    for (size_t i = 0; i < level.blocks.size(); ++i) {
      h = run(std::cref(level.blocks[i]), h, embedding);
      if (!level.transformers.empty()) h = run(std::cref(level.transformers[i]), h, text);
      skips.push_back(h);
    }
    if (level.resample) skips.push_back(h = (*level.resample)(h));
  }
  h = run(std::cref(middle_.blocks[0]), h, embedding);
  h = run(std::cref(middle_.transformers[0]), h, text);
  h = run(std::cref(middle_.blocks[1]), h, embedding);
  for (const UnetLevel& level : up_) {
    for (size_t i = 0; i < level.blocks.size(); ++i) {
      h = run(std::cref(level.blocks[i]), at::cat({h, skips.back()}, 1), embedding);
      skips.pop_back();
      if (!level.transformers.empty()) h = run(std::cref(level.transformers[i]), h, text);
    }
    if (level.resample) {  // to the size of what it meets next, which may be odd
      h = (*level.resample)(at::upsample_nearest2d(h, skips.back().sizes().slice(2)));
    }
  }
  return out_(at::silu(out_norm_(h))).to(kBorderDtype);
}

// ---- from the file

Unet::ResBlock Unet::read_block(Weights& w, const std::string& name, int64_t in,
                                int64_t out) const {
  const UnetConfig& c = config_;
  ResBlock block{w.group_norm(name + ".norm1", c.norm_groups, in, c.norm_eps),
                 w.conv(name + ".conv1", in, out, 3),
                 w.linear(name + ".time_emb_proj", 4 * c.levels.front().width, out),
                 w.group_norm(name + ".norm2", c.norm_groups, out, c.norm_eps),
                 w.conv(name + ".conv2", out, out, 3),
                 {}};
  if (in != out) block.shortcut = w.conv(name + ".conv_shortcut", in, out, 1);
  return block;
}

Unet::Attention Unet::read_attention(Weights& w, const std::string& name,
                                     const UnetConfig::Level& level, int64_t context_width) const {
  return {name,
          w.linear(name + ".to_q", level.width, level.width, false),
          w.linear(name + ".to_k", context_width, level.width, false),
          w.linear(name + ".to_v", context_width, level.width, false),
          w.linear(name + ".to_out.0", level.width, level.width),
          level.heads,
          policy_.attention()};
}

Unet::Transformer Unet::read_transformer(Weights& w, const std::string& name,
                                         const UnetConfig::Level& level) const {
  const int64_t width = level.width;
  Transformer transformer{
      w.group_norm(name + ".norm", config_.norm_groups, width, kTransformerNormEps),
      w.linear(name + ".proj_in", width, width),
      {},
      w.linear(name + ".proj_out", width, width)};
  for (int64_t i = 0; i < level.transformer_layers; ++i) {
    const std::string at = fmt::format("{}.transformer_blocks.{}.", name, i);
    transformer.blocks.push_back({w.layer_norm(at + "norm1", width, kLayerNormEps),
                                  read_attention(w, at + "attn1", level, width),
                                  w.layer_norm(at + "norm2", width, kLayerNormEps),
                                  read_attention(w, at + "attn2", level, config_.text_width),
                                  w.layer_norm(at + "norm3", width, kLayerNormEps),
                                  w.linear(at + "ff.net.0.proj", width, 8 * width),
                                  w.linear(at + "ff.net.2", 4 * width, width)});
  }
  return transformer;
}

void Unet::read_down(Weights& w) {
  int64_t in = config_.levels.front().width;
  skip_widths_ = {in};
  for (size_t i = 0; i < config_.levels.size(); ++i) {
    const UnetConfig::Level& c = config_.levels[i];
    const std::string at = fmt::format("down_blocks.{}.", i);
    UnetLevel level;
    for (int64_t j = 0; j < config_.layers_per_block; ++j) {
      level.blocks.push_back(read_block(w, fmt::format("{}resnets.{}", at, j), in, c.width));
      if (c.attention_down) {
        level.transformers.push_back(read_transformer(w, fmt::format("{}attentions.{}", at, j), c));
      }
      skip_widths_.push_back(in = c.width);
    }
    if (i + 1 < config_.levels.size()) {
      level.resample = w.conv(at + "downsamplers.0.conv", in, in, 3, /*stride=*/2);
      skip_widths_.push_back(in);
    }
    down_.push_back(std::move(level));
  }
}

void Unet::read_middle(Weights& w) {
  const UnetConfig::Level& c = config_.levels.back();
  middle_.blocks.push_back(read_block(w, "mid_block.resnets.0", c.width, c.width));
  middle_.transformers.push_back(read_transformer(w, "mid_block.attentions.0", c));
  middle_.blocks.push_back(read_block(w, "mid_block.resnets.1", c.width, c.width));
}

void Unet::read_up(Weights& w) {
  int64_t in = config_.levels.back().width;
  for (size_t i = 0; i < config_.levels.size(); ++i) {
    const UnetConfig::Level& c = config_.levels[config_.levels.size() - 1 - i];
    const std::string at = fmt::format("up_blocks.{}.", i);
    UnetLevel level;
    for (int64_t j = 0; j < config_.layers_per_block + 1; ++j) {
      const int64_t with_skip = in + skip_widths_.back();
      skip_widths_.pop_back();
      level.blocks.push_back(read_block(w, fmt::format("{}resnets.{}", at, j), with_skip, c.width));
      if (c.attention_up) {
        level.transformers.push_back(read_transformer(w, fmt::format("{}attentions.{}", at, j), c));
      }
      in = c.width;
    }
    if (i + 1 < config_.levels.size()) level.resample = w.conv(at + "upsamplers.0.conv", in, in, 3);
    up_.push_back(std::move(level));
  }
}

Unet::Unet(const std::string& folder, const PartPolicy& policy, at::Generator* invented)
    : config_(read_unet_config(folder)), policy_(policy) {
  const UnetConfig& c = config_;
  const int64_t width = c.levels.front().width;
  Weights w(folder, "diffusion_pytorch_model", policy, invented);
  in_ = w.conv("conv_in", c.in_channels, width, 3);
  time1_ = w.linear("time_embedding.linear_1", width, 4 * width);
  time2_ = w.linear("time_embedding.linear_2", 4 * width, 4 * width);
  added1_ = w.linear("add_embedding.linear_1", c.added_width, 4 * width);
  added2_ = w.linear("add_embedding.linear_2", 4 * width, 4 * width);
  read_down(w);
  read_middle(w);
  read_up(w);
  out_norm_ = w.group_norm("conv_norm_out", c.norm_groups, width, c.norm_eps);
  out_ = w.conv("conv_out", width, c.out_channels, 3);
  tensors_ = w.taken();
  w.require_all_used();
}

void Unet::for_each_projection(const std::function<void(const std::string&, Linear&)>& visit) {
  const auto visit_level = [&](UnetLevel& level) {
    for (Transformer& transformer : level.transformers) {
      for (TransformerBlock& block : transformer.blocks) {
        for (Attention* attention : {&block.self, &block.cross}) {
          visit(attention->name + ".to_q", attention->q);
          visit(attention->name + ".to_k", attention->k);
          visit(attention->name + ".to_v", attention->v);
          visit(attention->name + ".to_out.0", attention->out);
        }
      }
    }
  };
  for (UnetLevel& level : down_) visit_level(level);
  visit_level(middle_);
  for (UnetLevel& level : up_) visit_level(level);
}

}  // namespace dtypecheck::runtime
