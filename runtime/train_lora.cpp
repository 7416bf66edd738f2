#include "runtime/train_lora.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "core/error.h"
#include "runtime/json_file.h"
#include "runtime/lora.h"
#include "runtime/t5_encoder.h"
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

static void refuse_broken(const DtypePolicy& policy, const std::vector<std::string>& reasons) {
  if (reasons.empty()) return;
  throw InputError(fmt::format("policy {} cannot work: {}; --keep-broken runs it all the same",
                               policy.name, fmt::join(reasons, "; ")));
}

// What LibTorch throws is an answer about the input too.
template <typename Work>
static auto in_libtorch(const Work& work) {
  try {
    return work();
  } catch (const c10::Error& error) {
    throw InputError(fmt::format("LibTorch: {}", error.what_without_backtrace()));
  }
}

static int64_t run(const TrainOptions& options,
                   const std::function<bool(const Progress&)>& report) {
  const DtypePolicy policy = find_policy(options.policy);
  require_model(options.model);
  const PolicySetting setting{options.adam_eps,
                              read_vae_config(options.model + "/vae").overflows_half};
  if (!options.keep_broken) refuse_broken(policy, why_broken(policy, setting));
  require_writable(options.out);
  at::Generator random = at::detail::createCPUGenerator(options.seed);
  TrainingData data(options, policy);
  Unet unet(options.model + "/unet", policy.unet);
  data.fit(unet.config());
  const Schedule schedule(read_schedule_config(options.model + "/scheduler"));
  std::vector<TrainedTensor> lora = add_lora(unet, options.rank, policy.trained, random);
  std::optional<at::Generator> rounding;
  if (policy.trained.stochastic_rounding) rounding = random;
  AdamW optimizer(lora, {.rate = options.learning_rate, .eps = options.adam_eps},
                  policy.trained.state, rounding);
  GradScaler scaler(policy.scale_loss);

  int64_t step = 0;
  for (bool go_on = true; go_on && step < options.steps;) {
    const Batch batch = data.next(options.batch_size, schedule.steps(), random);
    StepResult result;
    try {
      result = train_step(unet, schedule, batch, lora, optimizer, scaler,
                          options.most_gradient_norm, policy.trained.unscaled);
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
  save_lora(options.out, lora, policy.trained);
  return step;
}

int64_t train_lora(const TrainOptions& options,
                   const std::function<bool(const Progress&)>& report) {
  return in_libtorch([&] { return run(options, report); });
}

std::string encode_t5(const std::string& folder, const std::vector<int64_t>& tokens,
                      const std::string& policy_name, bool keep_broken) {
  return in_libtorch([&] {
    const c10::NoGradGuard no_grad;
    const DtypePolicy policy = find_policy(policy_name);
    if (!keep_broken) refuse_broken(policy, why_part_broken("t5", policy.t5));
    const T5Encoder encoder(folder, policy.t5);
    const int64_t most = tokens.empty() ? 0 : *std::max_element(tokens.begin(), tokens.end());
    if (tokens.empty() || most >= encoder.config().vocabulary) {
      throw InputError(fmt::format("{}: expected tokens from 0 to {}, got {}", folder,
                                   encoder.config().vocabulary - 1, fmt::join(tokens, ",")));
    }
    const at::Tensor states = encoder(at::tensor(tokens, at::kLong).unsqueeze(0));
    const double size = states.square().mean().sqrt().item<double>();
    if (!std::isfinite(size)) throw InputError(folder + ": the states have NaN or inf");
    return fmt::format("{} tokens, {} states each, root of their mean square {:.6g}", tokens.size(),
                       states.size(2), size);
  });
}

}  // namespace dtypecheck::runtime
