#include "runtime/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <cmath>

namespace dtypecheck::runtime {

std::vector<at::Tensor> take_unscaled_gradients(std::vector<TrainedTensor>& trained, double scale) {
  std::vector<at::Tensor> gradients;
  for (TrainedTensor& t : trained) {
    at::Tensor gradient = t.weight.grad();
    t.weight.mutable_grad().reset();
    if (!gradient.defined()) gradient = at::zeros(t.weight.sizes(), at::kFloat);
    gradient = gradient.to(at::kFloat);
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

AdamW::AdamW(const std::vector<TrainedTensor>& trained, const AdamWOptions& options)
    : options_(options) {
  for (const TrainedTensor& t : trained) {
    mean_.push_back(at::zeros(t.master.sizes(), at::kFloat));
    square_.push_back(at::zeros(t.master.sizes(), at::kFloat));
  }
}

void AdamW::step(std::vector<TrainedTensor>& trained, const std::vector<at::Tensor>& gradients) {
  const c10::NoGradGuard no_grad;
  const AdamWOptions& o = options_;
  ++steps_;
  const double bias1 = 1 - std::pow(o.beta1, steps_);
  const double bias2 = 1 - std::pow(o.beta2, steps_);
  for (size_t i = 0; i < trained.size(); ++i) {
    at::Tensor& master = trained[i].master;
    mean_[i].lerp_(gradients[i], 1 - o.beta1);
    square_[i].mul_(o.beta2).addcmul_(gradients[i], gradients[i], 1 - o.beta2);
    const at::Tensor spread = square_[i].sqrt().div_(std::sqrt(bias2)).add_(o.eps);
    master.mul_(1 - o.rate * o.decay);
    master.addcdiv_(mean_[i], spread, -o.rate / bias1);
    if (!master.is_same(trained[i].weight)) trained[i].weight.copy_(master);
  }
}

}  // namespace dtypecheck::runtime
