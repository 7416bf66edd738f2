#include "runtime/train_step.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "platform/error.h"

namespace dtypecheck::runtime {

at::Tensor training_loss(const Unet& unet, const Schedule& schedule, const Batch& batch,
                         const StepOptions& options) {
  const at::Tensor noisy = schedule.add_noise(batch.latents, batch.noise, batch.timesteps);
  const at::Tensor prediction = unet(
      {noisy, batch.timesteps, batch.text, batch.pooled, batch.size_ids, batch.mask, batch.masked});
  const at::Tensor target = schedule.target(batch.latents, batch.noise, batch.timesteps);
  if (options.min_snr_gamma == 0) return at::mse_loss(prediction, target);
  const at::Tensor of_images = (prediction - target).square().flatten(1).mean(1);
  return (of_images * schedule.loss_weights(batch.timesteps, options.min_snr_gamma)).mean();
}

// What went into the UNet was looked at when it was made; so it is the weights, or what they make.
static std::string part_of_nan(const std::vector<TrainedTensor>& trained) {
  for (const TrainedTensor& t : trained) {
    if (!t.weight.isfinite().all().item<bool>()) return "trained weights, " + t.name + " first";
  }
  return "unet";
}

StepResult train_step(const Unet& unet, const Schedule& schedule, const Batch& batch,
                      std::vector<TrainedTensor>& trained, AdamW& optimizer, GradScaler& scaler,
                      const StepOptions& options) {
  const at::Tensor loss = training_loss(unet, schedule, batch, options);
  StepResult result{loss.item<double>(), 0, false};
  if (!std::isfinite(result.loss)) {
    throw InputError(
        fmt::format("the loss is {}; the part is: {}", result.loss, part_of_nan(trained)));
  }
  (scaler.scale() == 1 ? loss : loss * scaler.scale()).backward();
  Gradients gradients = take_gradients(trained, scaler.scale(), options.unscaled);
  result.gradient_norm = global_norm(gradients);
  result.stepped = std::isfinite(result.gradient_norm);
  if (result.stepped) {
    clip_by_global_norm(gradients, result.gradient_norm, options.most_gradient_norm);
    optimizer.step(trained, gradients);
  }
  scaler.update(result.stepped);
  return result;
}

}  // namespace dtypecheck::runtime
