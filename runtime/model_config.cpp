#include "runtime/model_config.h"

#include <fmt/format.h>

#include "runtime/json_file.h"

namespace dtypecheck::runtime {

// Far above any model, far below what overflows when widths are multiplied.
static constexpr int64_t kMostWidth = 1 << 16;
static constexpr int64_t kMostLayers = 256;
static constexpr int64_t kMostLevels = 8;

static void require_divides(const JsonObject& config, const std::string& key, int64_t divisor,
                            int64_t width) {
  if (width % divisor != 0) {
    config.fail(key, fmt::format("{} does not divide the width {}", divisor, width));
  }
}

TextEncoderConfig read_text_encoder_config(const std::string& folder) {
  const JsonObject config = JsonObject::read(folder + "/config.json");
  TextEncoderConfig c{};
  c.vocabulary = config.integer("vocab_size", 1, 1 << 24);
  c.positions = config.integer("max_position_embeddings", 2, kMostWidth);
  c.width = config.integer("hidden_size", 1, kMostWidth);
  c.mlp_width = config.integer("intermediate_size", 1, kMostWidth);
  c.layers = config.integer("num_hidden_layers", 2, kMostLayers);  // the last but one is used
  c.heads = config.integer("num_attention_heads", 1, kMostWidth);
  c.projection_width = config.integer_or("projection_dim", 512, 1, kMostWidth);
  c.end_token = config.integer_or("eos_token_id", 49407, 0, 1 << 24);
  c.norm_eps = config.number_or("layer_norm_eps", 1e-5);
  require_divides(config, "num_attention_heads", c.heads, c.width);
  const std::string activation = config.text_or("hidden_act", "quick_gelu");
  if (activation != "gelu" && activation != "quick_gelu") {
    config.fail("hidden_act", fmt::format("expected gelu or quick_gelu, got {}", activation));
  }
  c.activation = activation == "gelu" ? TextEncoderConfig::Activation::kGelu
                                      : TextEncoderConfig::Activation::kQuickGelu;
  return c;
}

T5Config read_t5_config(const std::string& folder) {
  const JsonObject config = JsonObject::read(folder + "/config.json");
  T5Config c{};
  c.vocabulary = config.integer("vocab_size", 1, 1 << 24);
  c.width = config.integer("d_model", 1, kMostWidth);
  c.head_width = config.integer("d_kv", 1, kMostWidth);
  c.mlp_width = config.integer("d_ff", 1, kMostWidth);
  c.layers = config.integer("num_layers", 1, kMostLayers);
  c.heads = config.integer("num_heads", 1, kMostWidth);
  c.distance_buckets = config.integer_or("relative_attention_num_buckets", 32, 4, kMostWidth);
  c.farthest_distance = config.integer_or("relative_attention_max_distance", 128, 2, 1 << 24);
  c.norm_eps = config.number_or("layer_norm_epsilon", 1e-6);
  if (c.distance_buckets % 4 != 0 || c.farthest_distance <= c.distance_buckets / 4) {
    config.fail("relative_attention_num_buckets",
                fmt::format("expected a multiple of 4 and less than 4 times "
                            "relative_attention_max_distance, got {} and {}",
                            c.distance_buckets, c.farthest_distance));
  }
  const std::string kind = config.text_or("feed_forward_proj", "relu");
  if (kind != "relu" && kind != "gated-gelu") {
    config.fail("feed_forward_proj", "expected relu or gated-gelu, got " + shown_text(kind));
  }
  c.gated = kind == "gated-gelu";
  return c;
}

static std::vector<int64_t> read_widths(const JsonObject& config, int64_t norm_groups) {
  const std::vector<int64_t> widths = config.integers("block_out_channels", 1, kMostWidth);
  if (widths.empty() || static_cast<int64_t>(widths.size()) > kMostLevels) {
    config.fail("block_out_channels",
                fmt::format("expected 1 to {} widths, got {}", kMostLevels, widths.size()));
  }
  for (const int64_t width : widths) {
    require_divides(config, "norm_num_groups", norm_groups, width);
  }
  return widths;
}

// One block type a level.
static std::vector<std::string> read_blocks(const JsonObject& config, const std::string& key,
                                            size_t levels, const std::string& plain,
                                            const std::string& other) {
  const std::vector<std::string> types = config.texts(key);
  if (types.size() != levels) {
    config.fail(key, fmt::format("expected {} block types, got {}", levels, types.size()));
  }
  for (const std::string& type : types) {
    if (type != plain && type != other) {
      const std::string known = other.empty() ? plain : plain + " or " + other;
      config.fail(key, fmt::format("expected {}, got {}", known, type));
    }
  }
  return types;
}

VaeConfig read_vae_config(const std::string& folder) {
  const JsonObject config = JsonObject::read(folder + "/config.json");
  VaeConfig c{};
  c.image_channels = config.integer("in_channels", 3, 3);
  c.latent_channels = config.integer("latent_channels", 1, kMostWidth);
  c.layers_per_block = config.integer_or("layers_per_block", 1, 1, kMostLayers);
  c.norm_groups = config.integer_or("norm_num_groups", 32, 1, kMostWidth);
  c.widths = read_widths(config, c.norm_groups);
  c.scaling_factor = config.number_or("scaling_factor", 0.18215);
  c.overflows_half = config.boolean_or("force_upcast", true);
  read_blocks(config, "down_block_types", c.widths.size(), "DownEncoderBlock2D", "");
  read_blocks(config, "up_block_types", c.widths.size(), "UpDecoderBlock2D", "");
  config.require("act_fn", "silu");
  config.require("out_channels", 3);
  config.require("mid_block_add_attention", true);
  config.require("use_quant_conv", true);
  config.require("use_post_quant_conv", true);
  config.require("latents_mean", nullptr);
  config.require("latents_std", nullptr);
  config.require("shift_factor", nullptr);
  return c;
}

// One number for all levels, or a list with one for each.
static std::vector<int64_t> per_level(const JsonObject& config, const std::string& key,
                                      size_t levels, int64_t most) {
  const auto found = config.json().find(key);
  if (found == config.json().end() || !found->is_array()) {
    return std::vector<int64_t>(levels, config.integer(key, 1, most));
  }
  const std::vector<int64_t> values = config.integers(key, 1, most);
  if (values.size() != levels) {
    config.fail(key, fmt::format("expected {} numbers, got {}", levels, values.size()));
  }
  return values;
}

static std::vector<UnetConfig::Level> read_levels(const JsonObject& config, int64_t norm_groups) {
  const std::vector<int64_t> widths = read_widths(config, norm_groups);
  const size_t levels = widths.size();
  const auto down =
      read_blocks(config, "down_block_types", levels, "DownBlock2D", "CrossAttnDownBlock2D");
  const auto up = read_blocks(config, "up_block_types", levels, "UpBlock2D", "CrossAttnUpBlock2D");
  // A historic slip of diffusers: what it calls the width of a head is the number of heads.
  const auto heads = per_level(config, "attention_head_dim", levels, kMostWidth);
  const auto depth = per_level(config, "transformer_layers_per_block", levels, kMostLayers);
  std::vector<UnetConfig::Level> out;
  for (size_t i = 0; i < levels; ++i) {
    require_divides(config, "attention_head_dim", heads[i], widths[i]);
    out.push_back({.width = widths[i],
                   .attention_down = down[i].starts_with("CrossAttn"),
                   .attention_up = up[levels - 1 - i].starts_with("CrossAttn"),
                   .transformer_layers = depth[i],
                   .heads = heads[i]});
  }
  return out;
}

UnetConfig read_unet_config(const std::string& folder) {
  const JsonObject config = JsonObject::read(folder + "/config.json");
  UnetConfig c{};
  c.in_channels = config.integer("in_channels", 1, kMostWidth);
  c.out_channels = config.integer("out_channels", 1, kMostWidth);
  c.layers_per_block = config.integer("layers_per_block", 1, kMostLayers);
  c.norm_groups = config.integer_or("norm_num_groups", 32, 1, kMostWidth);
  c.levels = read_levels(config, c.norm_groups);
  c.text_width = config.integer("cross_attention_dim", 1, kMostWidth);
  c.size_id_width = config.integer("addition_time_embed_dim", 2, kMostWidth);
  c.added_width = config.integer("projection_class_embeddings_input_dim", 1, kMostWidth);
  if (c.size_id_width % 2 != 0) config.fail("addition_time_embed_dim", "expected an even number");
  if (c.pooled_width() < 1) {
    config.fail("projection_class_embeddings_input_dim",
                fmt::format("expected more than six times addition_time_embed_dim, which is {}",
                            c.size_id_width));
  }
  c.norm_eps = config.number_or("norm_eps", 1e-5);
  c.frequency_shift = config.number_or("freq_shift", 0);
  c.cosine_first = config.boolean_or("flip_sin_to_cos", true);
  if (config.text_or("addition_embed_type", "none") != "text_time") {
    config.fail("addition_embed_type", "expected text_time, as SDXL has it");
  }
  if (!config.boolean_or("use_linear_projection", false)) {
    config.fail("use_linear_projection", "expected true, as SDXL has it");
  }
  config.require("mid_block_type", "UNetMidBlock2DCrossAttn");
  config.require("act_fn", "silu");
  config.require("downsample_padding", 1);
  config.require("conv_in_kernel", 3);
  config.require("conv_out_kernel", 3);
  config.require("resnet_time_scale_shift", "default");
  config.require("time_embedding_type", "positional");
  for (const char* flag : {"center_input_sample", "dual_cross_attention", "only_cross_attention",
                           "class_embeddings_concat", "resnet_skip_time_act"}) {
    config.require(flag, false);
  }
  for (const char* key :
       {"num_attention_heads", "reverse_transformer_layers_per_block", "class_embed_type",
        "encoder_hid_dim_type", "time_embedding_act_fn", "time_embedding_dim", "timestep_post_act",
        "time_cond_proj_dim", "cross_attention_norm"}) {
    config.require(key, nullptr);
  }
  config.require("mid_block_scale_factor", 1);
  config.require("resnet_out_scale_factor", 1.0);
  config.require("dropout", 0.0);
  return c;
}

ScheduleConfig read_schedule_config(const std::string& folder) {
  const JsonObject config = JsonObject::read(folder + "/scheduler_config.json");
  ScheduleConfig c{};
  c.steps = config.integer_or("num_train_timesteps", 1000, 1, 1 << 20);
  c.beta_start = config.number("beta_start");
  c.beta_end = config.number("beta_end");
  if (!(c.beta_start > 0 && c.beta_start < c.beta_end && c.beta_end < 1)) {
    config.fail("beta_start", fmt::format("expected 0 < beta_start < beta_end < 1, got {} and {}",
                                          c.beta_start, c.beta_end));
  }
  const std::string target = config.text_or("prediction_type", "epsilon");
  if (target != "epsilon" && target != "v_prediction") {
    config.fail("prediction_type", fmt::format("expected epsilon or v_prediction, got {}", target));
  }
  c.target =
      target == "epsilon" ? ScheduleConfig::Target::kEpsilon : ScheduleConfig::Target::kVelocity;
  if (config.text_or("beta_schedule", "linear") != "scaled_linear") {
    config.fail("beta_schedule", "expected scaled_linear, as SDXL has it");
  }
  config.require("rescale_betas_zero_snr", false);
  config.require("trained_betas", nullptr);
  return c;
}

}  // namespace dtypecheck::runtime
