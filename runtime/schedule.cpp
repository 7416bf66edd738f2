#include "runtime/schedule.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "runtime/policy.h"

namespace dtypecheck::runtime {

Schedule::Schedule(const ScheduleConfig& config, at::Device device) : config_(config) {
  const at::Tensor betas = at::linspace(std::sqrt(config.beta_start), std::sqrt(config.beta_end),
                                        config.steps, kBorderDtype)
                               .square();
  signal_shares_ = (1 - betas).cumprod(0).to(device);
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

at::Tensor Schedule::loss_weights(const at::Tensor& timesteps, double gamma) const {
  const at::Tensor a = signal_shares_.index_select(0, timesteps);
  const at::Tensor snr = a / (1 - a);
  const bool is_epsilon = config_.target == ScheduleConfig::Target::kEpsilon;
  return snr.clamp_max(gamma) / (is_epsilon ? snr : snr + 1);
}

std::vector<Schedule::EulerStep> Schedule::euler_steps(int64_t count) const {
  const at::Tensor shares = signal_shares_.to(at::kCPU, at::kDouble);
  const at::Tensor sigmas = ((1 - shares) / shares).sqrt();
  std::vector<EulerStep> steps;
  for (int64_t i = count - 1; i >= 0; --i) {
    const int64_t timestep = std::min(i * (config_.steps / count) + 1, config_.steps - 1);
    steps.push_back({timestep, sigmas[timestep].item<double>(), 0});
  }
  for (size_t i = 1; i < steps.size(); ++i) steps[i - 1].next_sigma = steps[i].sigma;
  return steps;
}

at::Tensor Schedule::euler_step(const EulerStep& step, const at::Tensor& x,
                                const at::Tensor& prediction) const {
  at::Tensor noise = prediction;
  if (config_.target == ScheduleConfig::Target::kVelocity) {
    const double length = std::sqrt(step.sigma * step.sigma + 1);
    const at::Tensor image = x / (length * length) - prediction * (step.sigma / length);
    noise = (x - image) / step.sigma;
  }
  return x + noise * (step.next_sigma - step.sigma);
}

}  // namespace dtypecheck::runtime
