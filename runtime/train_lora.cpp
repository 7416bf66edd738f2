#include "runtime/train_lora.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "runtime/json_file.h"
#include "runtime/lora.h"
#include "runtime/train_step.h"
#include "runtime/training_data.h"

namespace dtypecheck::runtime {

// Before hours of work, not after them.
static void require_writable(const std::string& out) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(out).has_parent_path() ? fs::path(out).parent_path() : ".";
  std::error_code ignored;
  if (fs::is_directory(out, ignored)) {
    throw InputError(fmt::format("{}: is a folder, expected the name of a file to write", out));
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw InputError(
        fmt::format("{}: cannot be written to: {}", folder.string(), std::strerror(errno)));
  }
}

static void require_model(const std::string& model) {
  if (is_file(model + "/model_index.json")) return;
  throw InputError(
      fmt::format("{}: is no diffusers folder of SDXL: expected model_index.json, and "
                  "folders unet, vae, text_encoder and so on",
                  model));
}

static int64_t run(const TrainOptions& options,
                   const std::function<bool(const Progress&)>& report) {
  const DtypePolicy& policy = find_policy(options.policy);
  require_model(options.model);
  require_writable(options.out);
  at::Generator random = at::detail::createCPUGenerator(options.seed);
  TrainingData data(options, policy);
  Unet unet(options.model + "/unet", policy.unet);
  data.require_fits(unet.config());
  const Schedule schedule(read_schedule_config(options.model + "/scheduler"));
  std::vector<TrainedTensor> lora = add_lora(unet, options.rank, policy.lora, random);
  AdamW optimizer(lora, {.rate = options.learning_rate});
  GradScaler scaler(policy.scale_loss);

  int64_t step = 0;
  for (bool go_on = true; go_on && step < options.steps;) {
    const Batch batch = data.next(options.batch_size, schedule.steps(), random);
    StepResult result;
    try {
      result =
          train_step(unet, schedule, batch, lora, optimizer, scaler, options.most_gradient_norm);
    } catch (const InputError& error) {
      throw InputError(fmt::format("step {}: {}; nothing was saved", step + 1, error.what()));
    }
    if (!result.stepped && (!policy.scale_loss || scaler.exhausted())) {
      throw InputError(
          fmt::format("step {}: gradients have NaN or inf; nothing was saved", step + 1));
    }
    ++step;
    go_on = report({step, options.steps, result.loss, scaler.scale(), result.stepped});
  }
  save_lora(options.out, lora, policy.lora);
  return step;
}

int64_t train_lora(const TrainOptions& options,
                   const std::function<bool(const Progress&)>& report) {
  try {
    return run(options, report);
  } catch (const c10::Error& error) {
    throw InputError(fmt::format("LibTorch: {}", error.what_without_backtrace()));
  }
}

}  // namespace dtypecheck::runtime
