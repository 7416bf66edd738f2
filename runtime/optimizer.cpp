#include "runtime/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace dtypecheck::runtime {

std::vector<at::Tensor> take_unscaled_gradients(std::vector<TrainedTensor>& trained, double scale,
                                                at::ScalarType dtype) {
  std::vector<at::Tensor> gradients;
  for (TrainedTensor& t : trained) {
    at::Tensor gradient = t.weight.grad();
    t.weight.mutable_grad().reset();
    if (!gradient.defined()) gradient = at::zeros(t.weight.sizes(), dtype);
    gradient = gradient.to(dtype);
    gradients.push_back(scale == 1 ? gradient : gradient.mul_(1 / scale));
  }
  return gradients;
}

double global_norm(const std::vector<at::Tensor>& gradients) {
  std::vector<at::Tensor> norms;
  for (const at::Tensor& gradient : gradients) norms.push_back(gradient.norm());
  return norms.empty() ? 0 : at::stack(norms).norm().item<double>();
}

void clip_by_global_norm(std::vector<at::Tensor>& gradients, double norm, double most) {
  const double factor = most / (norm + 1e-6);
  if (factor >= 1) return;
  for (at::Tensor& gradient : gradients) gradient.mul_(factor);
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

at::Tensor round_stochastically(const at::Tensor& x, const at::Generator& random) {
  // BFloat16 is the upper half of Float; what is added to the lower half decides what it carries.
  const at::Tensor chance = at::randint(1 << 16, x.sizes(), random, at::kInt);
  const at::Tensor bits = (x.view(at::kInt) + chance).bitwise_and(-(1 << 16));
  return bits.view(at::kFloat).to(at::kBFloat16);
}

AdamW::AdamW(const std::vector<TrainedTensor>& trained, const AdamWOptions& options,
             at::ScalarType state, std::optional<at::Generator> rounding)
    : options_(options), rounding_(std::move(rounding)) {
  for (const TrainedTensor& t : trained) {
    mean_.push_back(at::zeros(t.master.sizes(), state));
    square_.push_back(at::zeros(t.master.sizes(), state));
  }
}

void AdamW::step_one(at::Tensor& master, const at::Tensor& gradient, size_t i) {
  const AdamWOptions& o = options_;
  const double bias1 = 1 - std::pow(o.beta1, steps_);
  const double bias2 = 1 - std::pow(o.beta2, steps_);
  mean_[i].lerp_(gradient, 1 - o.beta1);
  square_[i].mul_(o.beta2).addcmul_(gradient, gradient, 1 - o.beta2);
  const at::Tensor spread = square_[i].sqrt().div_(std::sqrt(bias2)).add_(o.eps);
  master.mul_(1 - o.rate * o.decay);
  master.addcdiv_(mean_[i], spread, -o.rate / bias1);
}

void AdamW::step(std::vector<TrainedTensor>& trained, const std::vector<at::Tensor>& gradients) {
  const c10::NoGradGuard no_grad;
  ++steps_;
  for (size_t i = 0; i < trained.size(); ++i) {
    at::Tensor& weight = trained[i].weight;
    at::Tensor master = rounding_ ? weight.to(at::kFloat) : trained[i].master;
    step_one(master, gradients[i].to(mean_[i].scalar_type()), i);
    if (rounding_) master = round_stochastically(master, *rounding_);
    if (!master.is_same(weight)) weight.copy_(master);
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
