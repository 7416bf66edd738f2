#include "runtime/train.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "platform/error.h"
#include "platform/files.h"
#include "runtime/checkpoint.h"
#include "runtime/device.h"
#include "runtime/full_model.h"
#include "runtime/json_file.h"
#include "runtime/lora.h"
#include "runtime/sampler.h"
#include "runtime/t5_encoder.h"
#include "runtime/train_step.h"
#include "runtime/training_data.h"

namespace dtypecheck::runtime {

// Before hours of work, not after them.
static void require_writable(const std::string& out, bool is_folder) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(out).has_parent_path() ? fs::path(out).parent_path() : ".";
  std::error_code ignored;
  if (is_folder && fs::exists(out, ignored)) {
    throw InputError(fmt::format("{}: is there already; name a folder that is not", out));
  }
  if (fs::is_directory(out, ignored)) {
    throw InputError(fmt::format("{}: is a folder, expected the name of a file to write", out));
  }
  if (access(folder.c_str(), W_OK) != 0) {
    throw InputError(
        fmt::format("{}: cannot be written to: {}", folder.string(), std::strerror(errno)));
  }
}

void require_model(const std::string& model) {
  if (is_file(model + "/model_index.json")) return;
  throw InputError(
      fmt::format("{}: not a diffusers folder of SDXL: expected model_index.json, and folders "
                  "unet, vae, text_encoder and so on",
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

// What a resumed run must have been begun with.
static RunOptions run_options(const TrainOptions& o) {
  return {{"kind", o.full ? "full" : "lora"},
          {"policy", o.policy},
          {"rank", o.full ? "" : std::to_string(o.rank)},
          {"resolution", std::to_string(o.resolution)},
          {"batch-size", std::to_string(o.batch_size)},
          {"seed", std::to_string(o.seed)},
          {"learning-rate", fmt::format("{}", o.learning_rate)},
          {"max-gradient-norm", fmt::format("{}", o.most_gradient_norm)},
          {"adam-eps", fmt::format("{}", o.adam_eps)},
          {"min-snr-gamma", fmt::format("{}", o.min_snr_gamma)},
          {"ema-decay", fmt::format("{}", o.ema_decay)}};
}

std::string checkpoint_path(const TrainOptions& options) { return options.out + ".checkpoint"; }
std::string validation_path(const TrainOptions& options) { return options.out + ".png"; }

static PartPolicy unet_policy(const DtypePolicy& policy, bool full) {
  PartPolicy unet = policy.unet;
  if (full) unet.stored = policy.trained.stored;
  return unet;
}

namespace {

class Training {
 public:
  Training(const TrainOptions& options, const DtypePolicy& policy)
      : options_(options),
        policy_(policy),
        random_(at::detail::createCPUGenerator(options.seed)),
        data_(options, policy),
        unet_(options.model + "/unet", unet_policy(policy, options.full)),
        schedule_(read_schedule_config(options.model + "/scheduler"), policy.unet.device),
        trained_(options.full ? train_all(unet_, policy.trained)
                              : add_lora(unet_, options.rank, policy.trained, random_)),
        optimizer_(trained_, {.rate = options.learning_rate, .eps = options.adam_eps},
                   policy.trained.state, rounding()),
        scaler_(policy.scale_loss),
        average_(trained_, options.ema_decay) {
    data_.fit(unet_.config());
    if (options.recompute) unet_.recompute_blocks();
    if (!options.validation_prompt.empty() && unet_.config().in_channels != latent_channels()) {
      throw InputError("--validation-prompt: a UNet for inpainting makes no image from text alone");
    }
    if (!options.resume.empty()) resume();
  }

  int64_t run(const std::function<bool(const Progress&)>& report) {
    bool go_on = true;
    while (go_on && step_ < options_.steps) {
      const StepResult result = step();
      go_on = report({step_, options_.steps, result.loss, scaler_.scale(), result.stepped});
      const bool is_due = options_.checkpoint_every > 0 && step_ % options_.checkpoint_every == 0;
      if (is_due || !go_on) save_state();
    }
    save();
    if (!options_.validation_prompt.empty()) make_image();
    return step_;
  }

 private:
  std::optional<at::Generator> rounding() const {
    return policy_.trained.stochastic_rounding ? std::optional(random_) : std::nullopt;
  }
  int64_t latent_channels() const { return data_.vae().config().latent_channels; }
  TrainingState state() { return {trained_, optimizer_, scaler_, average_, data_, random_}; }

  void resume() {
    TrainingState into = state();
    step_ = load_checkpoint(options_.resume, run_options(options_), into);
    for (TrainedTensor& t : trained_) t.weight.requires_grad_();
    if (step_ <= options_.steps) return;
    throw InputError(fmt::format("{}: is of step {}, beyond the {} that are asked for",
                                 options_.resume, step_, options_.steps));
  }

  StepResult step() {
    const Batch batch = data_.next(options_.batch_size, schedule_.steps(), random_);
    const StepOptions how{options_.most_gradient_norm, options_.min_snr_gamma,
                          policy_.trained.unscaled};
    StepResult result;
    try {
      result = train_step(unet_, schedule_, batch, trained_, optimizer_, scaler_, how);
    } catch (const InputError& error) {
      stop(error.what());
    }
    if (!result.stepped && (!policy_.scale_loss || scaler_.exhausted())) {
      stop("gradients have NaN or inf");
    }
    ++step_;
    if (result.stepped) average_.update(trained_, step_);
    return result;
  }

  [[noreturn]] void stop(const std::string& why) const {
    const int64_t every = options_.checkpoint_every;
    const bool has_checkpoint = every > 0 && step_ >= every;
    throw InputError(fmt::format("step {}: {}; {}", step_ + 1, why,
                                 has_checkpoint
                                     ? "the last good state is in " + checkpoint_path(options_)
                                     : "nothing was saved"));
  }

  void save_state() {
    save_checkpoint(checkpoint_path(options_), step_, run_options(options_), state());
  }

  void save() const {
    const auto& averages = average_.averages();
    if (options_.full) {
      return save_full_model(options_.model, options_.out, trained_, averages, policy_.trained);
    }
    auto tensors = saved_tensors(options_.out, trained_, averages, policy_.trained);
    if (options_.kohya_names) tensors = named_as_kohya(tensors, unet_.config().layers_per_block);
    save_tensors(options_.out, tensors,
                 {{"format", "pt"},
                  {"rank", std::to_string(options_.rank)},
                  {"policy", options_.policy},
                  {"steps", std::to_string(step_)}});
  }

  void make_image() {
    const c10::NoGradGuard no_grad;
    at::Generator random = at::detail::createCPUGenerator(options_.seed);
    const int64_t side = options_.resolution / data_.vae().config().pixels_per_latent();
    const at::Tensor noise =
        at::randn({1, latent_channels(), side, side}, random, kBorderDtype).to(policy_.unet.device);
    const EncodedText text = data_.prompt_encoder()(options_.validation_prompt);
    const at::Tensor pixels =
        sample(unet_, data_.vae(), schedule_, text, noise, {.steps = options_.validation_steps});
    write_png(validation_path(options_), image_of(pixels));
  }

  const TrainOptions& options_;
  const DtypePolicy& policy_;
  at::Generator random_;
  TrainingData data_;
  Unet unet_;
  Schedule schedule_;
  std::vector<TrainedTensor> trained_;
  AdamW optimizer_;
  GradScaler scaler_;
  Ema average_;
  int64_t step_ = 0;
};

}  // namespace

// LibTorch's threads meet at a barrier after each op. With less to do for an op than a few of
// LibTorch's own grains, the barriers cost many times what the ops do.
static void choose_threads(const TrainOptions& options, int64_t pixels_per_latent) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const int64_t side = options.resolution / pixels_per_latent;
  const int64_t width = read_unet_config(options.model + "/unet").levels.front().width;
  const int64_t numbers = options.batch_size * side * side * width;
  if (numbers < 4 * at::internal::GRAIN_SIZE) at::set_num_threads(1);
}

static int64_t run(const TrainOptions& options,
                   const std::function<bool(const Progress&)>& report) {
  DtypePolicy policy = find_policy(options.policy);
  put_on(policy, find_device(options.device));
  require_model(options.model);
  const VaeConfig vae = read_vae_config(options.model + "/vae");
  const PolicyContext context{options.adam_eps, vae.overflows_half};
  if (!options.keep_broken) refuse_broken(policy, why_broken(policy, context));
  require_writable(options.out, options.full);
  choose_threads(options, vae.pixels_per_latent());
  return Training(options, policy).run(report);
}

int64_t train(const TrainOptions& options, const std::function<bool(const Progress&)>& report) {
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
