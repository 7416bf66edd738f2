#include "kernels/cuda/rows.h"
#include "kernels/rms_norm/rms_norm.h"

namespace dtypecheck::kernels {

static void rms_norm_cuda(const RmsNorm& a) {
  LayerNorm same;
  same.rows = a.rows;
  same.cols = a.cols;
  same.x = a.x;
  same.gamma = a.gamma;
  same.eps = a.eps;
  same.y = a.y;
  same.rstd = a.rstd;
  same.device = a.device;
  cuda::normalize_rows<false>(same);
}

static void rms_norm_backward_cuda(const RmsNormBackward& a) {
  LayerNormBackward same;
  same.rows = a.rows;
  same.cols = a.cols;
  same.dy = a.dy;
  same.x = a.x;
  same.gamma = a.gamma;
  same.rstd = a.rstd;
  same.dx = a.dx;
  same.dgamma = a.dgamma;
  same.device = a.device;
  cuda::normalize_rows_backward<false>(same);
}

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<RmsNorm>::run = rms_norm_cuda,
     DeviceVariant<RmsNormBackward>::run = rms_norm_backward_cuda, true);

}  // namespace dtypecheck::kernels
