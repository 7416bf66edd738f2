#include "runtime/schedule.h"

#include <ATen/ATen.h>

#include <cmath>

#include "runtime/policy.h"

namespace dtypecheck::runtime {

Schedule::Schedule(const ScheduleConfig& config) : config_(config) {
  const at::Tensor betas = at::linspace(std::sqrt(config.beta_start), std::sqrt(config.beta_end),
                                        config.steps, kBorderDtype)
                               .square();
  signal_shares_ = (1 - betas).cumprod(0);
}

// The share of each image of a batch, so that it multiplies [batch, channels, height, width].
static at::Tensor per_image(const at::Tensor& shares, const at::Tensor& timesteps) {
  return shares.index_select(0, timesteps).view({-1, 1, 1, 1});
}

at::Tensor Schedule::add_noise(const at::Tensor& latents, const at::Tensor& noise,
                               const at::Tensor& timesteps) const {
  const at::Tensor a = per_image(signal_shares_, timesteps);
  return a.sqrt() * latents + (1 - a).sqrt() * noise;
}

at::Tensor Schedule::target(const at::Tensor& latents, const at::Tensor& noise,
                            const at::Tensor& timesteps) const {
  if (config_.target == ScheduleConfig::Target::kEpsilon) return noise;
  const at::Tensor a = per_image(signal_shares_, timesteps);
  return a.sqrt() * noise - (1 - a).sqrt() * latents;
}

}  // namespace dtypecheck::runtime
