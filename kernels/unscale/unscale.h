// unscale.h: y[i] = x[i] * factor in Float, and the sum of the squares of y, in one pass over the
// gradient. What a gradient scaler does before a step (Micikevicius et al. 2018); torch's refuses
// Half, as it would write Half, where small ones vanish. Runs on the threads of threads.h.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

struct Unscale {
  int64_t n = 0;
  Input x;                           // n gradients
  float factor = 1;                  // 1 / scale
  float* y = nullptr;                // n, null to have the sum alone; may be x where that is Float
  double* sum_of_squares = nullptr;  // one number
  const Device* device = nullptr;    // where all of these are on a GPU
};

// The sum is kept in double, where no square of a Float is infinite or 0: it is finite exactly when
// all y are, and so is the answer to the scaler's question. Variants add in their own order.
inline constexpr double kUnscaleTolerance = 1e-12;  // of the sum; y is the same to the bit

void unscale(const Unscale& arguments);  // throws InputError for arguments that are not as above
std::span<const Variant<Unscale>> unscale_variants();

void unscale_ref(const Unscale& arguments);

}  // namespace dtypecheck::kernels
