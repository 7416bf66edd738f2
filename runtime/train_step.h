// train_step.h: one step of training.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/optimizer.h"
#include "runtime/schedule.h"
#include "runtime/unet.h"

namespace dtypecheck::runtime {

// What the UNet is trained on; all in kBorderDtype but the timesteps.
struct Batch {
  at::Tensor latents;  // scaled, without noise
  at::Tensor noise, timesteps, text, pooled, size_ids;
  at::Tensor mask, masked;  // for inpainting, as UnetInput has them; else undefined
};

struct StepOptions {
  double most_gradient_norm = 1;
  double min_snr_gamma = 0;  // 0: each image counts the same
  at::ScalarType unscaled = at::kFloat;
};

at::Tensor training_loss(const Unet& unet, const Schedule& schedule, const Batch& batch,
                         const StepOptions& options);

struct StepResult {
  double loss;
  double gradient_norm;  // before clipping
  bool stepped;          // false: gradients were not finite, and the weights are as they were
};

// Throws InputError when the loss is not finite, and says in which part that began.
StepResult train_step(const Unet& unet, const Schedule& schedule, const Batch& batch,
                      std::vector<TrainedTensor>& trained, AdamW& optimizer, GradScaler& scaler,
                      const StepOptions& options);

}  // namespace dtypecheck::runtime
