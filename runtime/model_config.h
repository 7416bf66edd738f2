// model_config.h: the config.json files of a diffusers folder, as far as SDXL uses them. What they
// say and this runtime cannot do is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

// transformers' CLIPTextModel and CLIPTextModelWithProjection.
struct TextEncoderConfig {
  int64_t vocabulary, positions, width, mlp_width, layers, heads, projection_width;
  int64_t end_token;  // 2 in published files: the position is then that of the largest token
  double norm_eps;
  enum class Activation { kGelu, kQuickGelu } activation;
};

// transformers' T5EncoderModel.
struct T5Config {
  int64_t vocabulary, width, head_width, mlp_width, layers, heads;
  int64_t distance_buckets, farthest_distance;
  double norm_eps;
  bool gated;  // gelu(gate) * value; else relu(value)
};

// diffusers' AutoencoderKL.
struct VaeConfig {
  int64_t image_channels, latent_channels, layers_per_block, norm_groups;
  std::vector<int64_t> widths;  // from the image inwards
  double scaling_factor;        // latents are multiplied by it
  bool overflows_half;          // force_upcast
  int64_t pixels_per_latent() const { return int64_t{1} << (widths.size() - 1); }
};

// diffusers' UNet2DConditionModel with text and size conditioning.
struct UnetConfig {
  struct Level {  // from the latents inwards; the way up mirrors the way down
    int64_t width;
    bool attention_down, attention_up;
    int64_t transformer_layers, heads;
  };
  int64_t in_channels, out_channels, layers_per_block, norm_groups;
  std::vector<Level> levels;
  int64_t text_width;     // cross_attention_dim
  int64_t size_id_width;  // addition_time_embed_dim: of the sinusoid of each of six numbers
  int64_t added_width;    // projection_class_embeddings_input_dim: pooled text and sinusoids
  double norm_eps, frequency_shift;
  bool cosine_first;  // flip_sin_to_cos
  int64_t pooled_width() const { return added_width - 6 * size_id_width; }
};

struct ScheduleConfig {
  enum class Target { kEpsilon, kVelocity } target;
  int64_t steps;
  double beta_start, beta_end;
};

// Each reads folder/config.json (the schedule: folder/scheduler_config.json), throws InputError.
TextEncoderConfig read_text_encoder_config(const std::string& folder);
T5Config read_t5_config(const std::string& folder);
VaeConfig read_vae_config(const std::string& folder);
UnetConfig read_unet_config(const std::string& folder);
ScheduleConfig read_schedule_config(const std::string& folder);

}  // namespace dtypecheck::runtime
