// optimizer.h: from scaled gradients to a step of the weights, all of it in Float under a sound
// policy. There it is done by kernels/, one pass over the gradients for their norm and one for the
// step, without Float copies of them. What a broken policy asks for is done by LibTorch's ops, so
// that a tracer sees it.
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

// A tensor for each that is trained, contiguous; the gradients are these times `factor`.
struct Gradients {
  std::vector<at::Tensor> tensors;
  double factor = 1;
};

// The gradients divided by `scale`, taken from the weights, whose gradients are none afterwards. A
// weight that got none has zeros. `unscaled` is the dtype they are divided in. In Float, as it
// should be, they stay as they came and the factor does it, in Float wherever they are used; in
// Half the small ones become 0 here.
Gradients take_gradients(std::vector<TrainedTensor>& trained, double scale,
                         at::ScalarType unscaled = at::kFloat);

// The length of all gradients as one vector; not finite when any of their numbers is not.
double global_norm(const Gradients& gradients);
// Shortens them to a length of `most` where they are longer.
void clip_by_global_norm(Gradients& gradients, double norm, double most);

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
  // Masters are stepped, and weights set to them. With `rounding` weights in BFloat16 need no
  // masters.
  void step(std::vector<TrainedTensor>& trained, const Gradients& gradients);

  // What a checkpoint keeps.
  const std::vector<at::Tensor>& means() const { return mean_; }
  const std::vector<at::Tensor>& squares() const { return square_; }
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }

 private:
  bool fits_kernel(const TrainedTensor& trained) const;
  void step_by_kernel(TrainedTensor& trained, const at::Tensor& gradient, double factor, size_t i,
                      uint64_t seed);
  void step_by_ops(TrainedTensor& trained, const at::Tensor& gradient, double factor, size_t i);

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
