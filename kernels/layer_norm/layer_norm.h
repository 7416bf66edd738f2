// layer_norm.h (Ba et al. 2016): for each row, with n columns,
//   mean = sum x / n      rstd = 1 / sqrt(sum (x - mean)² / n + eps)      y = (x - mean) * rstd *
//   gamma + beta
// and backward, with h = dy * gamma and z = (x - mean) * rstd:
//   dx = rstd (h - sum(h) / n - z * sum(h z) / n)
//   dgamma, dbeta = the sums over the rows of dy * z and of dy
// x, y, dx, dy: rows x cols, row-major, of one dtype; gamma, beta and their gradients: cols, each
// of any. mean and rstd are Float: where |mean| is large beside the spread, z is as exact as a
// Float mean lets it be. Arithmetic is in Float, so a spread above 1e18 has no finite square. y may
// be x, and dx may be dy. RMS norm (Zhang and Sennrich 2019) is the same with a mean of 0: has_mean
// = false, where beta and mean are null. Runs on the threads of threads.h; the same bits on any
// number of them.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

struct LayerNorm {
  int64_t rows = 0, cols = 0;
  Input x;
  Input gamma, beta;  // null: 1 and 0
  double eps = 1e-5;
  Output y;
  float *mean = nullptr, *rstd = nullptr;  // rows each; null where backward is not wanted
  const Device* device = nullptr;          // where all of these are on a GPU
  bool has_mean = true;
};

struct LayerNormBackward {
  int64_t rows = 0, cols = 0;
  Input dy, x;
  Input gamma;                                   // null: 1
  const float *mean = nullptr, *rstd = nullptr;  // of forward
  Output dx;
  Output dgamma, dbeta;            // null: not wanted
  const Device* device = nullptr;  // where all of these are on a GPU
  bool has_mean = true;
};

void layer_norm(const LayerNorm& arguments);  // both throw InputError for arguments not as above
void layer_norm_backward(const LayerNormBackward& arguments);
std::span<const Variant<LayerNorm>> layer_norm_variants();
std::span<const Variant<LayerNormBackward>> layer_norm_backward_variants();

void layer_norm_ref(const LayerNorm& arguments);
void layer_norm_backward_ref(const LayerNormBackward& arguments);

}  // namespace dtypecheck::kernels
