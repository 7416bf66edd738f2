// rms_norm.h (Zhang and Sennrich 2019): for each row, with n columns,
//   rstd = 1 / sqrt(sum x² / n + eps)      y = x * rstd * gamma
// and backward, with h = dy * gamma and z = x * rstd:
//   dx = rstd (h - z * sum(h z) / n)       dgamma = the sum over the rows of dy * z
// x, y, dx, dy: rows x cols, row-major, of one dtype; gamma and dgamma: cols, of another or the
// same. Arithmetic is in Float, so |x| above 1e18 has no finite square. y may be x, and dx may be
// dy. Runs on the threads of threads.h; the same bits on any number of them.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

struct RmsNorm {
  int64_t rows = 0, cols = 0;
  Input x;
  Input gamma;  // null: 1
  double eps = 1e-6;
  Output y;
  float* rstd = nullptr;           // rows; null where backward is not wanted
  const Device* device = nullptr;  // where all of these are on a GPU
};

struct RmsNormBackward {
  int64_t rows = 0, cols = 0;
  Input dy, x;
  Input gamma;                  // null: 1
  const float* rstd = nullptr;  // of forward
  Output dx;
  Output dgamma;                   // null: not wanted
  const Device* device = nullptr;  // where all of these are on a GPU
};

void rms_norm(const RmsNorm& arguments);  // both throw InputError for arguments not as above
void rms_norm_backward(const RmsNormBackward& arguments);
std::span<const Variant<RmsNorm>> rms_norm_variants();
std::span<const Variant<RmsNormBackward>> rms_norm_backward_variants();

void rms_norm_ref(const RmsNorm& arguments);
void rms_norm_backward_ref(const RmsNormBackward& arguments);

}  // namespace dtypecheck::kernels
