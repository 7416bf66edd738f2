// as_layer_norm.h: an RMS norm as the layer norm without mean and beta that its variants run.
#pragma once

#include "kernels/layer_norm/layer_norm.h"
#include "kernels/rms_norm/rms_norm.h"

namespace dtypecheck::kernels {

inline LayerNorm as_layer_norm(const RmsNorm& a) {
  LayerNorm same;
  same.rows = a.rows;
  same.cols = a.cols;
  same.x = a.x;
  same.gamma = a.gamma;
  same.eps = a.eps;
  same.y = a.y;
  same.rstd = a.rstd;
  same.device = a.device;
  return same;
}

inline LayerNormBackward as_layer_norm(const RmsNormBackward& a) {
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
  return same;
}

}  // namespace dtypecheck::kernels
