#include "runtime/train_step.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <cmath>

#include "core/error.h"

namespace dtypecheck::runtime {

at::Tensor training_loss(const Unet& unet, const Schedule& schedule, const Batch& batch) {
  const at::Tensor noisy = schedule.add_noise(batch.latents, batch.noise, batch.timesteps);
  const at::Tensor prediction = unet(
      {noisy, batch.timesteps, batch.text, batch.pooled, batch.size_ids, batch.mask, batch.masked});
  const at::Tensor target = schedule.target(batch.latents, batch.noise, batch.timesteps);
  return at::mse_loss(prediction, target);
}

StepResult train_step(const Unet& unet, const Schedule& schedule, const Batch& batch,
                      std::vector<TrainedTensor>& trained, AdamW& optimizer, GradScaler& scaler,
                      double most_gradient_norm, at::ScalarType unscaled) {
  const at::Tensor loss = training_loss(unet, schedule, batch);
  StepResult result{loss.item<double>(), 0, false};
  if (!std::isfinite(result.loss)) throw InputError(fmt::format("the loss is {}", result.loss));
  (scaler.scale() == 1 ? loss : loss * scaler.scale()).backward();
  std::vector<at::Tensor> gradients = take_unscaled_gradients(trained, scaler.scale(), unscaled);
  result.gradient_norm = global_norm(gradients);
  result.stepped = std::isfinite(result.gradient_norm);
  if (result.stepped) {
    clip_by_global_norm(gradients, result.gradient_norm, most_gradient_norm);
    optimizer.step(trained, gradients);
  }
  scaler.update(result.stepped);
  return result;
}

}  // namespace dtypecheck::runtime
