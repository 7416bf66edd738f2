#include "runtime/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/adamw/adamw.h"
#include "kernels/global_norm/global_norm.h"
#include "kernels/torch/checks.h"

namespace dtypecheck::runtime {

using operators::input;
using operators::output;

Gradients take_gradients(std::vector<TrainedTensor>& trained, double scale,
                         at::ScalarType unscaled) {
  const bool divides_here = unscaled != at::kFloat;
  Gradients gradients{{}, divides_here ? 1 : 1 / scale};
  for (TrainedTensor& t : trained) {
    at::Tensor gradient = t.weight.grad();
    t.weight.mutable_grad().reset();
    if (!gradient.defined()) gradient = at::zeros(t.weight.sizes(), t.weight.options());
    if (divides_here) gradient = gradient.to(unscaled).mul_(1 / scale);
    gradients.tensors.push_back(gradient.contiguous());
  }
  return gradients;
}

// One number comes back from the device, not one for each tensor.
static double norm_by_ops(const Gradients& gradients) {
  std::vector<at::Tensor> norms;
  for (const at::Tensor& gradient : gradients.tensors) {
    norms.push_back(at::linalg_vector_norm(gradient, 2, c10::nullopt, false, at::kFloat));
  }
  return at::linalg_vector_norm(at::stack(norms)).item<double>() * gradients.factor;
}

double global_norm(const Gradients& gradients) {
  const std::vector<at::Tensor>& all = gradients.tensors;
  if (!all.empty() && !all.front().is_cpu()) return norm_by_ops(gradients);
  std::vector<kernels::Gradient> list;
  for (const at::Tensor& gradient : all) list.push_back({gradient.numel(), input(gradient)});
  double norm = 0;
  kernels::global_norm({list, static_cast<float>(gradients.factor), &norm});
  return norm;
}

void clip_by_global_norm(Gradients& gradients, double norm, double most) {
  gradients.factor *= std::min(1.0, most / (norm + 1e-6));
}

void GradScaler::update(bool finite) {
  if (!enabled_) return;
  if (!finite) {
    scale_ /= 2;
    good_steps_ = 0;
  } else if (++good_steps_ == 2000) {
    scale_ *= 2;
    good_steps_ = 0;
  }
}

static uint64_t seed_of(const at::Generator& random) {
  const at::Tensor seed = at::randint(std::numeric_limits<int64_t>::max(), {1}, random, at::kLong);
  return static_cast<uint64_t>(seed.item<int64_t>());
}

at::Tensor round_stochastically(const at::Tensor& x, const at::Generator& random) {
  // BFloat16 is the upper half of Float; what is added to the lower half decides what it carries.
  const at::Tensor chance = at::randint(1 << 16, x.sizes(), random, at::kInt).to(x.device());
  const at::Tensor bits = (x.view(at::kInt) + chance).bitwise_and(-(1 << 16));
  return bits.view(at::kFloat).to(at::kBFloat16);
}

AdamW::AdamW(const std::vector<TrainedTensor>& trained, const AdamWOptions& options,
             at::ScalarType state, std::optional<at::Generator> rounding)
    : options_(options), rounding_(std::move(rounding)) {
  for (const TrainedTensor& t : trained) {
    mean_.push_back(at::zeros(t.master.sizes(), t.master.options().dtype(state)));
    square_.push_back(at::zeros(t.master.sizes(), t.master.options().dtype(state)));
  }
}

// On the CPU; Float state, and Float that is stepped; or BFloat16 that is rounded by chance. An
// epsilon that is 0 is LibTorch's to divide by.
bool AdamW::fits_kernel(const TrainedTensor& trained) const {
  return trained.weight.is_cpu() && mean_.front().scalar_type() == at::kFloat &&
         static_cast<float>(options_.eps) > 0 && trained.weight.is_contiguous() &&
         trained.master.is_contiguous() &&
         (rounding_ || trained.master.scalar_type() == at::kFloat);
}

void AdamW::step_by_kernel(TrainedTensor& trained, const at::Tensor& gradient, double factor,
                           size_t i, uint64_t seed) {
  const bool has_master = !trained.master.is_same(trained.weight);
  kernels::adamw(
      {.n = gradient.numel(),
       .weight = output(trained.weight),
       .master = has_master ? trained.master.data_ptr<float>() : nullptr,
       .gradient = input(gradient),
       .mean = mean_[i].data_ptr<float>(),
       .square = square_[i].data_ptr<float>(),
       .scale = static_cast<float>(factor),
       .step = steps_,
       .rate = options_.rate,
       .beta1 = options_.beta1,
       .beta2 = options_.beta2,
       .eps = options_.eps,
       .decay = options_.decay,
       .rounding = rounding_ ? kernels::Rounding::kStochastic : kernels::Rounding::kNearest,
       .seed = seed});
}

void AdamW::step_by_ops(TrainedTensor& trained, const at::Tensor& gradient, double factor,
                        size_t i) {
  const AdamWOptions& o = options_;
  const double bias1 = 1 - std::pow(o.beta1, steps_);
  const double bias2 = 1 - std::pow(o.beta2, steps_);
  at::Tensor master = rounding_ ? trained.weight.to(at::kFloat) : trained.master;
  const at::Tensor wide = gradient.to(mean_[i].scalar_type());
  const at::Tensor g = factor == 1 ? wide : wide * factor;
  mean_[i].lerp_(g, 1 - o.beta1);
  square_[i].mul_(o.beta2).addcmul_(g, g, 1 - o.beta2);
  const at::Tensor spread = square_[i].sqrt().div_(std::sqrt(bias2)).add_(o.eps);
  master.mul_(1 - o.rate * o.decay);
  master.addcdiv_(mean_[i], spread, -o.rate / bias1);
  if (rounding_) master = round_stochastically(master, *rounding_);
  if (!master.is_same(trained.weight)) trained.weight.copy_(master);
}

void AdamW::step(std::vector<TrainedTensor>& trained, const Gradients& gradients) {
  const c10::NoGradGuard no_grad;
  ++steps_;
  for (size_t i = 0; i < trained.size(); ++i) {
    const at::Tensor& gradient = gradients.tensors[i];
    if (fits_kernel(trained[i])) {
      step_by_kernel(trained[i], gradient, gradients.factor, i,
                     rounding_ ? seed_of(*rounding_) : 0);
    } else {
      step_by_ops(trained[i], gradient, gradients.factor, i);
    }
  }
}

Ema::Ema(const std::vector<TrainedTensor>& trained, double decay) : decay_(decay) {
  if (decay == 0) return;
  for (const TrainedTensor& t : trained)
    averages_.push_back(t.master.detach().to(at::kFloat).clone());
}

// The first steps would hold the average at the start: it begins to decay slowly.
void Ema::update(const std::vector<TrainedTensor>& trained, int64_t step) {
  const c10::NoGradGuard no_grad;
  const auto n = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  for (size_t i = 0; i < averages_.size(); ++i) {
    averages_[i].lerp_(trained[i].master.to(at::kFloat), 1 - decay);
  }
}

}  // namespace dtypecheck::runtime
