// Any text is a model's config or an InputError, and sizes of a config can be computed with.
#include "platform/error.h"
#include "runtime/model_config.h"
#include "target.h"

namespace dtypecheck::fuzz {

template <typename Config, typename Check>
static void try_to(Config (*read)(const std::string&), const Check& check) {
  try {
    check(read(GivenFolder::path()));
  } catch (const InputError&) {
  }
}

void test_input(std::string_view input) {
  const std::string text(input);
  const GivenFolder given("== config.json\n" + text + "== scheduler_config.json\n" + text,
                          {"config.json", "scheduler_config.json"});
  try_to(runtime::read_text_encoder_config, [](const runtime::TextEncoderConfig& config) {
    require(config.width % config.heads == 0 && config.layers > 1);
  });
  try_to(runtime::read_t5_config, [](const runtime::T5Config& config) {
    require(config.heads * config.head_width > 0 && config.distance_buckets % 4 == 0);
  });
  try_to(runtime::read_vae_config, [](const runtime::VaeConfig& config) {
    require(config.pixels_per_latent() > 0 && config.pixels_per_latent() <= 128);
  });
  try_to(runtime::read_unet_config, [](const runtime::UnetConfig& config) {
    require(config.pooled_width() > 0);
    for (const auto& level : config.levels)
      require(level.width % level.heads == 0 && level.width % config.norm_groups == 0);
  });
  try_to(runtime::read_schedule_config,
         [](const runtime::ScheduleConfig& config) { require(config.beta_end < 1); });
}

}  // namespace dtypecheck::fuzz
