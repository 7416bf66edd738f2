#include "runtime/vae.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

namespace dtypecheck::runtime {

static constexpr double kNormEps = 1e-6;

at::Tensor Vae::ResBlock::operator()(const at::Tensor& x) const {
  const at::Tensor h = conv2(at::silu(norm2(conv1(at::silu(norm1(x))))));
  return (shortcut ? (*shortcut)(x) : x) + h;
}

at::Tensor Vae::Attention::operator()(const at::Tensor& x) const {
  const at::Tensor in = norm(x).flatten(2).transpose(1, 2);  // [batch, pixels, channels]
  const at::Tensor h = out(attention(q(in), k(in), v(in), /*heads=*/1, policy));
  return x + h.transpose(1, 2).reshape(x.sizes());
}

Vae::ResBlock Vae::read_block(Weights& w, const std::string& name, int64_t in, int64_t out) const {
  const int64_t groups = config_.norm_groups;
  ResBlock block{w.group_norm(name + ".norm1", groups, in, kNormEps),
                 w.conv(name + ".conv1", in, out, 3),
                 w.group_norm(name + ".norm2", groups, out, kNormEps),
                 w.conv(name + ".conv2", out, out, 3),
                 {}};
  if (in != out) block.shortcut = w.conv(name + ".conv_shortcut", in, out, 1);
  return block;
}

void Vae::read_middle(Weights& w, const std::string& name, Coder& coder) const {
  const int64_t width = config_.widths.back();
  const std::string at = name + ".mid_block.attentions.0.";
  coder.middle.push_back(read_block(w, name + ".mid_block.resnets.0", width, width));
  coder.middle_attention.push_back(
      {w.group_norm(at + "group_norm", config_.norm_groups, width, kNormEps),
       w.linear(at + "to_q", width, width), w.linear(at + "to_k", width, width),
       w.linear(at + "to_v", width, width), w.linear(at + "to_out.0", width, width),
       w.policy().attention()});
  coder.middle.push_back(read_block(w, name + ".mid_block.resnets.1", width, width));
}

Vae::Coder Vae::read_encoder(Weights& w) const {
  const VaeConfig& c = config_;
  Coder coder;
  coder.in = w.conv("encoder.conv_in", c.image_channels, c.widths.front(), 3);
  int64_t in = c.widths.front();
  for (size_t i = 0; i < c.widths.size(); ++i) {
    const std::string at = fmt::format("encoder.down_blocks.{}.", i);
    VaeLevel level;
    for (int64_t j = 0; j < c.layers_per_block; ++j) {
      level.blocks.push_back(read_block(w, fmt::format("{}resnets.{}", at, j), in, c.widths[i]));
      in = c.widths[i];
    }
    if (i + 1 < c.widths.size()) {
      level.resample = w.conv(at + "downsamplers.0.conv", in, in, 3, /*stride=*/2);
      level.resample->padding = 0;  // it is padded on the right and below only
    }
    coder.levels.push_back(level);
  }
  read_middle(w, "encoder", coder);
  coder.norm = w.group_norm("encoder.conv_norm_out", c.norm_groups, in, kNormEps);
  coder.out = w.conv("encoder.conv_out", in, 2 * c.latent_channels, 3);
  return coder;
}

Vae::Coder Vae::read_decoder(Weights& w) const {
  const VaeConfig& c = config_;
  Coder coder;
  int64_t in = c.widths.back();
  coder.in = w.conv("decoder.conv_in", c.latent_channels, in, 3);
  read_middle(w, "decoder", coder);
  for (size_t i = 0; i < c.widths.size(); ++i) {
    const std::string at = fmt::format("decoder.up_blocks.{}.", i);
    const int64_t width = c.widths[c.widths.size() - 1 - i];
    VaeLevel level;
    for (int64_t j = 0; j < c.layers_per_block + 1; ++j) {
      level.blocks.push_back(read_block(w, fmt::format("{}resnets.{}", at, j), in, width));
      in = width;
    }
    if (i + 1 < c.widths.size()) level.resample = w.conv(at + "upsamplers.0.conv", in, in, 3);
    coder.levels.push_back(level);
  }
  coder.norm = w.group_norm("decoder.conv_norm_out", c.norm_groups, in, kNormEps);
  coder.out = w.conv("decoder.conv_out", in, c.image_channels, 3);
  return coder;
}

Vae::Vae(const std::string& folder, const PartPolicy& policy, at::Generator* invented)
    : config_(read_vae_config(folder)) {
  Weights w(folder, "diffusion_pytorch_model", policy, invented);
  encoder_ = read_encoder(w);
  decoder_ = read_decoder(w);
  quant_ = w.conv("quant_conv", 2 * config_.latent_channels, 2 * config_.latent_channels, 1);
  post_quant_ = w.conv("post_quant_conv", config_.latent_channels, config_.latent_channels, 1);
  w.require_all_used();
}

at::Tensor Vae::run_middle(const Coder& coder, const at::Tensor& x) {
  return coder.middle[1](coder.middle_attention[0](coder.middle[0](x)));
}

Vae::Moments Vae::encode(const at::Tensor& pixels) const {
  at::Tensor h = encoder_.in(pixels);
  for (const VaeLevel& level : encoder_.levels) {
    for (const ResBlock& block : level.blocks) h = block(h);
    if (level.resample) h = (*level.resample)(at::constant_pad_nd(h, {0, 1, 0, 1}));
  }
  h = quant_(encoder_.out(at::silu(encoder_.norm(run_middle(encoder_, h)))));
  const std::vector<at::Tensor> moments = h.to(kBorderDtype).chunk(2, 1);
  return {moments[0], moments[1].clamp(-30, 20)};
}

at::Tensor Vae::decode(const at::Tensor& latents) const {
  at::Tensor h = run_middle(decoder_, decoder_.in(post_quant_(latents)));
  for (const VaeLevel& level : decoder_.levels) {
    for (const ResBlock& block : level.blocks) h = block(h);
    if (level.resample) {
      h = (*level.resample)(at::upsample_nearest2d(h, {h.size(2) * 2, h.size(3) * 2}));
    }
  }
  return decoder_.out(at::silu(decoder_.norm(h))).to(kBorderDtype);
}

}  // namespace dtypecheck::runtime
