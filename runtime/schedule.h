// schedule.h: how much noise each time step has (Ho et al. 2020), in kBorderDtype: in BFloat16 the
// first time steps would get none.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "runtime/model_config.h"

namespace dtypecheck::runtime {

class Schedule {
 public:
  explicit Schedule(const ScheduleConfig& config, at::Device device = at::kCPU);

  // sqrt(a_t) latents + sqrt(1 - a_t) noise; timesteps: [batch], Long.
  at::Tensor add_noise(const at::Tensor& latents, const at::Tensor& noise,
                       const at::Tensor& timesteps) const;
  // What the UNet has to say: the noise, or the velocity sqrt(a_t) noise - sqrt(1 - a_t) latents
  // (Salimans and Ho 2022).
  at::Tensor target(const at::Tensor& latents, const at::Tensor& noise,
                    const at::Tensor& timesteps) const;
  // What each image's loss counts, so that easy time steps do not rule (min-SNR, Hang et al. 2023):
  // min(snr, gamma) / snr for the noise, min(snr, gamma) / (snr + 1) for the velocity. [batch]
  at::Tensor loss_weights(const at::Tensor& timesteps, double gamma) const;

  // From noise to image in `count` steps of Euler's method (Karras et al. 2022), the time steps
  // evenly spaced from 1 as diffusers' leading spacing has it. sigma: noise per signal.
  struct EulerStep {
    int64_t timestep;
    double sigma, next_sigma;
  };
  std::vector<EulerStep> euler_steps(int64_t count) const;
  // What is left when the step has been made with what the UNet said.
  at::Tensor euler_step(const EulerStep& step, const at::Tensor& x,
                        const at::Tensor& prediction) const;

  int64_t steps() const { return config_.steps; }
  const at::Tensor& signal_shares() const { return signal_shares_; }  // a_t, [steps]

 private:
  ScheduleConfig config_;
  at::Tensor signal_shares_;
};

}  // namespace dtypecheck::runtime
