#include "runtime/make_tiny.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "platform/error.h"
#include "platform/files.h"
#include "runtime/image.h"
#include "runtime/json_file.h"
#include "runtime/t5_encoder.h"
#include "runtime/text_encoder.h"
#include "runtime/tokenizer.h"
#include "runtime/unet.h"
#include "runtime/vae.h"

namespace dtypecheck::runtime {

namespace fs = std::filesystem;

static constexpr const char* kIndex = R"({
 "_class_name": "StableDiffusionXLPipeline",
 "force_zeros_for_empty_prompt": true,
 "scheduler": ["diffusers", "EulerDiscreteScheduler"],
 "text_encoder": ["transformers", "CLIPTextModel"],
 "text_encoder_2": ["transformers", "CLIPTextModelWithProjection"],
 "tokenizer": ["transformers", "CLIPTokenizer"],
 "tokenizer_2": ["transformers", "CLIPTokenizer"],
 "unet": ["diffusers", "UNet2DConditionModel"],
 "vae": ["diffusers", "AutoencoderKL"],
 "image_encoder": [null, null],
 "feature_extractor": [null, null]
})";

// SDXL's own numbers.
static constexpr const char* kScheduler = R"({
 "_class_name": "EulerDiscreteScheduler",
 "beta_start": 0.00085, "beta_end": 0.012, "beta_schedule": "scaled_linear",
 "num_train_timesteps": 1000, "prediction_type": "epsilon",
 "timestep_spacing": "leading", "steps_offset": 1
})";

// Both read text of 32 numbers a token; the UNet sees them side by side.
static constexpr const char* kTextEncoder = R"({
 "model_type": "clip_text_model", "vocab_size": 514, "max_position_embeddings": 77,
 "hidden_size": 32, "intermediate_size": 64, "projection_dim": 32,
 "num_hidden_layers": 4, "num_attention_heads": 4, "hidden_act": "gelu",
 "bos_token_id": 512, "eos_token_id": 513, "pad_token_id": 513
})";

static constexpr const char* kVae = R"({
 "_class_name": "AutoencoderKL", "in_channels": 3, "out_channels": 3, "latent_channels": 4,
 "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D"],
 "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D"],
 "block_out_channels": [32, 64], "layers_per_block": 1, "norm_num_groups": 32,
 "act_fn": "silu", "sample_size": 128, "scaling_factor": 0.13025, "force_upcast": true
})";

static constexpr const char* kUnet = R"({
 "_class_name": "UNet2DConditionModel", "sample_size": 32, "in_channels": 4, "out_channels": 4,
 "down_block_types": ["DownBlock2D", "CrossAttnDownBlock2D"],
 "up_block_types": ["CrossAttnUpBlock2D", "UpBlock2D"],
 "block_out_channels": [32, 64], "layers_per_block": 2,
 "transformer_layers_per_block": [1, 2], "attention_head_dim": [2, 4],
 "use_linear_projection": true, "cross_attention_dim": 64,
 "addition_embed_type": "text_time", "addition_time_embed_dim": 8,
 "projection_class_embeddings_input_dim": 80
})";

static constexpr const char* kT5 = R"({
 "model_type": "t5", "architectures": ["T5EncoderModel"], "vocab_size": 259,
 "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4,
 "feed_forward_proj": "gated-gelu", "pad_token_id": 0, "eos_token_id": 1
})";

static std::string made_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(fmt::format("{}: {}", folder, error.message()));
  return folder;
}

static void write_config(const std::string& folder, const std::string& name,
                         const nlohmann::json& config) {
  replace_file(made_folder(folder) + "/" + name, {config.dump(1)});
}

// A disc or a square of one colour on a light ground.
static Image drawn(bool disc, const uint8_t (&colour)[3]) {
  Image image{96, 80, std::vector<uint8_t>(96 * 80 * 3, 220)};
  for (int64_t y = 0; y < image.height; ++y) {
    for (int64_t x = 0; x < image.width; ++x) {
      const int64_t dx = x - 48, dy = y - 40;
      const bool inside = disc ? dx * dx + dy * dy < 26 * 26 : std::max(dx * dx, dy * dy) < 24 * 24;
      if (inside) std::copy_n(colour, 3, &image.rgb[static_cast<size_t>(y * image.width + x) * 3]);
    }
  }
  return image;
}

static void make_images(const std::string& folder) {
  static constexpr struct {
    const char *file, *text;
    bool disc;
    uint8_t colour[3];
  } kImages[] = {{"0.png", "a photo of a red disc", true, {200, 40, 40}},
                 {"1.png", "a photo of a green square", false, {40, 160, 60}},
                 {"2.png", "a photo of a blue disc", true, {50, 80, 200}},
                 {"3.png", "a photo of a yellow square", false, {220, 190, 40}}};
  made_folder(folder);
  std::string lines;
  for (const auto& image : kImages) {
    write_png(folder + "/" + image.file, drawn(image.disc, image.colour));
    lines += nlohmann::json{{"file_name", image.file}, {"text", image.text}}.dump() + "\n";
  }
  replace_file(folder + "/metadata.jsonl", {lines});
}

static void require_empty(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  if (!fs::is_directory(folder, error) || !fs::is_empty(folder, error)) {
    throw InputError(fmt::format("{}: is not an empty folder; name a new one", folder));
  }
}

void make_tiny(const std::string& folder, int64_t unet_channels, uint64_t seed) {
  require_empty(folder);
  const std::string model = folder + "/model", t5 = folder + "/t5";
  nlohmann::json unet = nlohmann::json::parse(kUnet);
  unet["in_channels"] = unet_channels;
  write_config(model + "/scheduler", "scheduler_config.json", nlohmann::json::parse(kScheduler));
  write_config(model + "/text_encoder", "config.json", nlohmann::json::parse(kTextEncoder));
  write_config(model + "/text_encoder_2", "config.json", nlohmann::json::parse(kTextEncoder));
  write_config(model + "/vae", "config.json", nlohmann::json::parse(kVae));
  write_config(model + "/unet", "config.json", unet);
  write_config(t5, "config.json", nlohmann::json::parse(kT5));
  write_byte_tokenizer(made_folder(model + "/tokenizer"));
  write_byte_tokenizer(made_folder(model + "/tokenizer_2"));

  at::Generator random = at::detail::createCPUGenerator(seed);
  const DtypePolicy policy = find_policy("fp32");
  TextEncoder(model + "/text_encoder", policy.text_encoders, false, &random);
  TextEncoder(model + "/text_encoder_2", policy.text_encoders, true, &random);
  Vae(model + "/vae", policy.vae, &random);
  Unet(model + "/unet", policy.unet, &random);
  T5Encoder(t5, policy.t5, &random);
  write_config(model, "model_index.json", nlohmann::json::parse(kIndex));
  make_images(folder + "/images");
}

}  // namespace dtypecheck::runtime
