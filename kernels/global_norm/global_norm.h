// global_norm.h: unscaling (unscale.h) of all gradients of a model and their norm as one vector, in
// one pass over them: what a gradient scaler and clipping by the norm ask, without a tensor
// between.
//   y[i] = x[i] * factor in Float      norm = sqrt(the sum of y² over all gradients)
// The norm is finite exactly when every y is: sums are kept in double, and NaN or an infinity among
// the numbers stays one. Runs on the threads of threads.h; the same bits on any number of them.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

struct Gradient {
  int64_t n = 0;
  Input x;
  float* y = nullptr;  // null to have the norm alone; may be x where that is Float
};

struct GlobalNorm {
  std::span<const Gradient> gradients;
  float factor = 1;                // 1 / scale
  double* norm = nullptr;          // one number
  const Device* device = nullptr;  // where all numbers are on a GPU
};

inline constexpr double kGlobalNormTolerance = 1e-12;  // of the norm; y is the same to the bit

void global_norm(const GlobalNorm& arguments);  // throws InputError for arguments not as above
std::span<const Variant<GlobalNorm>> global_norm_variants();

void global_norm_ref(const GlobalNorm& arguments);

}  // namespace dtypecheck::kernels
