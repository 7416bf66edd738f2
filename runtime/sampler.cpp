#include "runtime/sampler.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

#include "platform/error.h"

namespace dtypecheck::runtime {

at::Tensor sample(const Unet& unet, const Vae& vae, const Schedule& schedule,
                  const EncodedText& text, const at::Tensor& noise, const SampleOptions& options) {
  const c10::NoGradGuard no_grad;
  const int64_t height = noise.size(2) * vae.config().pixels_per_latent();
  const int64_t width = noise.size(3) * vae.config().pixels_per_latent();
  const std::vector<int64_t> ids = {height, width, 0, 0, height, width};
  const at::Tensor size_ids =
      at::tensor(ids, at::kLong).to(noise.device(), kBorderDtype).unsqueeze(0);
  const auto predict = [&](const at::Tensor& x, int64_t timestep, const EncodedText& said) {
    return unet({x,
                 at::full({1}, timestep, x.options().dtype(at::kLong)),
                 said.states,
                 said.pooled,
                 size_ids,
                 {},
                 {}});
  };
  // What SDXL takes for no text: zeros, not the encoding of an empty one.
  const EncodedText nothing{at::zeros_like(text.states), at::zeros_like(text.pooled)};

  const std::vector<Schedule::EulerStep> steps = schedule.euler_steps(options.steps);
  at::Tensor x = noise * std::sqrt(steps.front().sigma * steps.front().sigma + 1);
  for (const Schedule::EulerStep& step : steps) {
    const at::Tensor in = x / std::sqrt(step.sigma * step.sigma + 1);
    at::Tensor prediction = predict(in, step.timestep, text);
    if (options.guidance != 1) {
      const at::Tensor without = predict(in, step.timestep, nothing);
      prediction = without + options.guidance * (prediction - without);
    }
    x = schedule.euler_step(step, x, prediction);
  }
  return (vae.decode(x / vae.config().scaling_factor)[0] / 2 + 0.5).clamp(0, 1);
}

Image image_of(const at::Tensor& pixels) {
  if (!pixels.isfinite().all().item<bool>()) throw InputError("the image has NaN or inf");
  const at::Tensor bytes =
      (pixels * 255).round().to(at::kByte).permute({1, 2, 0}).cpu().contiguous();
  const auto* first = bytes.data_ptr<uint8_t>();
  return {bytes.size(1), bytes.size(0), std::vector<uint8_t>(first, first + bytes.numel())};
}

}  // namespace dtypecheck::runtime
