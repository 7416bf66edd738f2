// norm_numbers.h: what the three norms read and write, forward and backward, and as their
// arguments.
#pragma once

#include "kernels/group_norm/group_norm.h"
#include "kernels/layer_norm/layer_norm.h"
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

struct NormNumbers {
  NormNumbers(Dtype of_x, Dtype of_weights, int64_t size, int64_t channels, int64_t groups)
      : x(of_x, size),
        y(x),
        dy(x),
        dx(x),
        gamma(of_weights, channels),
        beta(gamma),
        dgamma(gamma),
        dbeta(gamma),
        mean(Dtype::kFloat, groups),
        rstd(mean) {}
  void fill(float x_mean, float x_spread, float dy_mean, float gamma_spread) {
    x.fill_normal(x_mean, x_spread, 1);
    dy.fill_normal(dy_mean, 1, 2);
    gamma.fill_normal(1, gamma_spread, 3);
    beta.fill_normal(0, 1, 4);
  }

  LayerNorm layer_norm(int64_t rows, int64_t cols, double eps) {
    return {rows, cols,       x.input(),     gamma.input(), beta.input(),
            eps,  y.output(), mean.floats(), rstd.floats()};
  }
  LayerNormBackward layer_norm_backward(int64_t rows, int64_t cols) {
    return {rows,          cols,          dy.input(),  x.input(),       gamma.input(),
            mean.floats(), rstd.floats(), dx.output(), dgamma.output(), dbeta.output()};
  }
  LayerNorm rms_norm(int64_t rows, int64_t cols, double eps) {
    LayerNorm a = layer_norm(rows, cols, eps);
    a.beta = {};
    a.mean = nullptr;
    a.has_mean = false;
    return a;
  }
  LayerNormBackward rms_norm_backward(int64_t rows, int64_t cols) {
    LayerNormBackward a = layer_norm_backward(rows, cols);
    a.mean = nullptr;
    a.dbeta = {};
    a.has_mean = false;
    return a;
  }
  GroupNorm group_norm(int64_t samples, int64_t channels, int64_t spatial, int64_t groups,
                       double eps, Layout layout = Layout::kChannelsFirst, bool silu = false) {
    return {samples,       channels,     spatial, groups,     x.input(),
            gamma.input(), beta.input(), eps,     y.output(), mean.floats(),
            rstd.floats(), layout,       silu};
  }
  GroupNormBackward group_norm_backward(int64_t samples, int64_t channels, int64_t spatial,
                                        int64_t groups, Layout layout = Layout::kChannelsFirst,
                                        bool silu = false) {
    return {samples,         channels,       spatial,       groups,        dy.input(),
            x.input(),       gamma.input(),  mean.floats(), rstd.floats(), dx.output(),
            dgamma.output(), dbeta.output(), layout,        silu,          beta.input()};
  }

  Numbers x, y, dy, dx, gamma, beta, dgamma, dbeta, mean, rstd;
};

}  // namespace dtypecheck::kernels
