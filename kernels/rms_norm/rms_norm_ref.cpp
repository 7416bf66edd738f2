#include "kernels/rms_norm/rms_norm.h"

namespace dtypecheck::kernels {

void rms_norm_ref(const RmsNorm& a) {
  for (int64_t r = 0; r < a.rows; ++r) {
    const int64_t row = r * a.cols;
    double squares = 0;
    for (int64_t c = 0; c < a.cols; ++c) squares += double{load(a.x, row + c)} * load(a.x, row + c);
    const float rstd =
        static_cast<float>(1 / std::sqrt(squares / static_cast<double>(a.cols) + a.eps));
    for (int64_t c = 0; c < a.cols; ++c) {
      const double z = double{load(a.x, row + c)} * rstd;
      store(a.y, row + c, static_cast<float>(z * load_or(a.gamma, c, 1)));
    }
    if (a.rstd) a.rstd[r] = rstd;
  }
}

// The gradient of gamma goes column by column, before dx may overwrite dy.
static void gradient_of_gamma(const RmsNormBackward& a) {
  for (int64_t c = 0; c < a.cols; ++c) {
    double sum = 0;
    for (int64_t r = 0; r < a.rows; ++r) {
      const int64_t i = r * a.cols + c;
      sum += double{load(a.dy, i)} * load(a.x, i) * a.rstd[r];
    }
    store(a.dgamma, c, static_cast<float>(sum));
  }
}

void rms_norm_backward_ref(const RmsNormBackward& a) {
  if (a.dgamma.data) gradient_of_gamma(a);
  for (int64_t r = 0; r < a.rows; ++r) {
    const int64_t row = r * a.cols;
    const double rstd = a.rstd[r];
    const auto h = [&](int64_t c) { return double{load(a.dy, row + c)} * load_or(a.gamma, c, 1); };
    const auto z = [&](int64_t c) { return load(a.x, row + c) * rstd; };
    double sum = 0;
    for (int64_t c = 0; c < a.cols; ++c) sum += h(c) * z(c);
    const double mean = sum / static_cast<double>(a.cols);
    for (int64_t c = 0; c < a.cols; ++c) {
      store(a.dx, row + c, static_cast<float>(rstd * (h(c) - z(c) * mean)));
    }
  }
}

}  // namespace dtypecheck::kernels
