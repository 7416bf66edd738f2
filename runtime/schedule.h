// schedule.h: how much noise each time step has (Ho et al. 2020), in kBorderDtype: in BFloat16 the
// first time steps would get none.
#pragma once

#include <ATen/core/Tensor.h>

#include "runtime/model_config.h"

namespace dtypecheck::runtime {

class Schedule {
 public:
  explicit Schedule(const ScheduleConfig& config);

  // sqrt(a_t) latents + sqrt(1 - a_t) noise; timesteps: [batch], Long.
  at::Tensor add_noise(const at::Tensor& latents, const at::Tensor& noise,
                       const at::Tensor& timesteps) const;
  // What the UNet has to say: the noise, or the velocity sqrt(a_t) noise - sqrt(1 - a_t) latents
  // (Salimans and Ho 2022).
  at::Tensor target(const at::Tensor& latents, const at::Tensor& noise,
                    const at::Tensor& timesteps) const;
  int64_t steps() const { return config_.steps; }
  const at::Tensor& signal_shares() const { return signal_shares_; }  // a_t, [steps]

 private:
  ScheduleConfig config_;
  at::Tensor signal_shares_;
};

}  // namespace dtypecheck::runtime
