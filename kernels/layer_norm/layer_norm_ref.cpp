#include "kernels/layer_norm/layer_norm.h"

namespace dtypecheck::kernels {

void layer_norm_ref(const LayerNorm& a) {
  const double n = static_cast<double>(a.cols);
  for (int64_t r = 0; r < a.rows; ++r) {
    const int64_t row = r * a.cols;
    double sum = 0, squares = 0;
    for (int64_t c = 0; c < a.cols; ++c) sum += load(a.x, row + c);
    const double exact_mean = a.has_mean ? sum / n : 0;
    for (int64_t c = 0; c < a.cols; ++c) {
      const double off = load(a.x, row + c) - exact_mean;
      squares += off * off;
    }
    const float mean = static_cast<float>(exact_mean);
    const float rstd = static_cast<float>(1 / std::sqrt(squares / n + a.eps));
    for (int64_t c = 0; c < a.cols; ++c) {
      const double z = (double{load(a.x, row + c)} - mean) * rstd;
      store(a.y, row + c, static_cast<float>(z * load_or(a.gamma, c, 1) + load_or(a.beta, c, 0)));
    }
    if (a.mean) a.mean[r] = mean;
    if (a.rstd) a.rstd[r] = rstd;
  }
}

static double mean_of(const LayerNormBackward& a, int64_t r) { return a.has_mean ? a.mean[r] : 0; }

// The gradients of gamma and beta go column by column, before dx may overwrite dy.
static void gradients_of_columns(const LayerNormBackward& a) {
  for (int64_t c = 0; c < a.cols; ++c) {
    double gamma = 0, beta = 0;
    for (int64_t r = 0; r < a.rows; ++r) {
      const int64_t i = r * a.cols + c;
      const double dy = load(a.dy, i), z = (double{load(a.x, i)} - mean_of(a, r)) * a.rstd[r];
      gamma += dy * z;
      beta += dy;
    }
    if (a.dgamma.data) store(a.dgamma, c, static_cast<float>(gamma));
    if (a.dbeta.data) store(a.dbeta, c, static_cast<float>(beta));
  }
}

void layer_norm_backward_ref(const LayerNormBackward& a) {
  gradients_of_columns(a);
  const double n = static_cast<double>(a.cols);
  for (int64_t r = 0; r < a.rows; ++r) {
    const int64_t row = r * a.cols;
    const double mean = mean_of(a, r), rstd = a.rstd[r];
    const auto h = [&](int64_t c) { return double{load(a.dy, row + c)} * load_or(a.gamma, c, 1); };
    const auto z = [&](int64_t c) { return (load(a.x, row + c) - mean) * rstd; };
    double sum = 0, dot = 0;
    for (int64_t c = 0; c < a.cols; ++c) {
      sum += a.has_mean ? h(c) : 0;
      dot += h(c) * z(c);
    }
    for (int64_t c = 0; c < a.cols; ++c) {
      store(a.dx, row + c, static_cast<float>(rstd * (h(c) - sum / n - z(c) * dot / n)));
    }
  }
}

}  // namespace dtypecheck::kernels
