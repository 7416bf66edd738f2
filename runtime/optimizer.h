// optimizer.h: from scaled gradients to a step of the weights, all of it in Float under a sound
// policy.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <optional>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

// A tensor that training changes. `weight` is what forward sees and what gradients are of; `master`
// is what the optimizer steps: the weight itself when that is Float, else a Float copy of it.
struct TrainedTensor {
  std::string name;
  at::Tensor weight, master;
};

// The gradients divided by `scale`, in `dtype`, which should be Float: in Half the small ones
// become 0. They are taken from the weights, whose gradients are none afterwards. A weight that got
// none has zeros.
std::vector<at::Tensor> take_unscaled_gradients(std::vector<TrainedTensor>& trained, double scale,
                                                at::ScalarType dtype = at::kFloat);

// The length of all gradients as one vector; not finite when any of their numbers is not.
double global_norm(const std::vector<at::Tensor>& gradients);
// Shortens them, in place, to a length of `most` where they are longer.
void clip_by_global_norm(std::vector<at::Tensor>& gradients, double norm, double most);

// Multiplies the loss, so that gradients stay above the least number of Half (Micikevicius et al.
// 2018).
class GradScaler {
 public:
  explicit GradScaler(bool enabled) : scale_(enabled ? 65536 : 1), enabled_(enabled) {}
  double scale() const { return scale_; }
  // After each step: halves the scale when gradients were not finite (and the step was left out),
  // doubles it after 2000 good ones.
  void update(bool finite);
  int good_steps() const { return good_steps_; }
  void restore(double scale, int good_steps) {
    scale_ = scale;
    good_steps_ = good_steps;
  }
  // No scale helps: gradients are not finite for another reason.
  bool exhausted() const { return enabled_ && scale_ < kLeast; }

 private:
  static constexpr double kLeast = 1.0 / 65536;
  double scale_;
  bool enabled_;
  int good_steps_ = 0;
};

struct AdamWOptions {
  double rate = 1e-4, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 1e-2;
};

// Float to BFloat16, up or down with the chance of the distance, so that the mean is kept.
at::Tensor round_stochastically(const at::Tensor& x, const at::Generator& random);

// Loshchilov and Hutter 2019.
class AdamW {
 public:
  AdamW(const std::vector<TrainedTensor>& trained, const AdamWOptions& options,
        at::ScalarType state = at::kFloat, std::optional<at::Generator> rounding = std::nullopt);
  // gradients: one a tensor. Masters are stepped, and weights set to them. With `rounding` weights
  // in BFloat16 need no masters.
  void step(std::vector<TrainedTensor>& trained, const std::vector<at::Tensor>& gradients);

  // What a checkpoint keeps.
  const std::vector<at::Tensor>& means() const { return mean_; }
  const std::vector<at::Tensor>& squares() const { return square_; }
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  void step_one(at::Tensor& master, const at::Tensor& gradient, size_t i);

  AdamWOptions options_;
  std::optional<at::Generator> rounding_;
  int64_t steps_ = 0;
  std::vector<at::Tensor> mean_, square_;
};

// An average of what was trained, in which late steps count more (Polyak and Juditsky 1992); in
// Float, as with a decay of 0.999 no 16-bit average would ever move. A decay of 0: none.
class Ema {
 public:
  Ema(const std::vector<TrainedTensor>& trained, double decay);
  void update(const std::vector<TrainedTensor>& trained, int64_t step);
  // One a tensor, or none.
  const std::vector<at::Tensor>& averages() const { return averages_; }

 private:
  double decay_;
  std::vector<at::Tensor> averages_;
};

}  // namespace dtypecheck::runtime
