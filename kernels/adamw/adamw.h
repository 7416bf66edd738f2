// adamw.h: one step of AdamW (Loshchilov and Hutter 2019, in the order of torch.optim.AdamW), all
// of it in Float:
//   g = scale * gradient
//   mean   = mean + (1 - beta1) (g - mean)
//   square = beta2 square + (1 - beta2) g²
//   w = (1 - rate decay) w - rate / (1 - beta1^step) * mean / (sqrt(square / (1 - beta2^step)) +
//   eps)
// The weight is rounded to its dtype once, at the end. Runs on the threads of threads.h; the same
// bits on any number of them.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

enum class Rounding {
  kNearest,
  // Up or down with the chance of the distance, so that the mean is kept and steps too small for
  // the dtype are not lost. For BFloat16 without masters; past its range it is infinite with that
  // chance.
  kStochastic,
};

struct AdamW {
  int64_t n = 0;
  Output weight;
  float* master = nullptr;  // what is stepped; null: the weight itself, read and rounded each time
  Input gradient;
  float* mean = nullptr;
  float* square = nullptr;
  float scale = 1;   // of the gradient: 1 / loss scale, clipping
  int64_t step = 1;  // from 1
  double rate = 1e-4, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, decay = 1e-2;
  Rounding rounding = Rounding::kNearest;
  uint64_t seed = 0;  // of stochastic rounding: another for each tensor
  int64_t first = 0;  // index in its tensor of the first number here, where a tensor is split
  const Device* device = nullptr;  // where all of these are on a GPU
};

// Variants give the same bits: multiply and add are fused in the same places.
void adamw(const AdamW& arguments);  // throws InputError for arguments that are not as above
std::span<const Variant<AdamW>> adamw_variants();

// Of many tensors, all on the processor or all on a GPU: there in few launches.
struct AdamWList {
  std::span<const AdamW> steps;
};
void adamw(const AdamWList& arguments);

void adamw_ref(const AdamW& arguments);

// What is the same for all numbers of a step.
struct AdamWFactors {
  explicit AdamWFactors(const AdamW& a)
      : mean_part(static_cast<float>(1 - a.beta1)),
        square_kept(static_cast<float>(a.beta2)),
        square_part(static_cast<float>(1 - a.beta2)),
        kept(static_cast<float>(1 - a.rate * a.decay)),
        root_bias(
            static_cast<float>(std::sqrt(1 - std::pow(a.beta2, static_cast<double>(a.step))))),
        eps(static_cast<float>(a.eps)),
        rate(static_cast<float>(a.rate / (1 - std::pow(a.beta1, static_cast<double>(a.step))))) {}

  float mean_part, square_kept, square_part, kept, root_bias, eps, rate;
};

}  // namespace dtypecheck::kernels
