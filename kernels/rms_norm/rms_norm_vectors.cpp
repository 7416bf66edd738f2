#include "kernels/rms_norm/rms_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rms_norm/rms_norm_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
#if DTYPECHECK_VECTORS

template <class T>
void rms_norm_as(const RmsNorm& a, const T* x, T* y) {
  const std::vector<float> weights = floats(a.gamma, a.cols, 1);
  const float* const gamma = weights.data();
  for (int64_t r = 0; r < a.rows; ++r, x += a.cols, y += a.cols) {
    const double squares = sum(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
      const V v = load(x + i, count);
      return hn::Mul(v, v);
    });
    const double n = static_cast<double>(a.cols);
    const float rstd = static_cast<float>(1 / std::sqrt(squares / n + a.eps));
    const V factor = hn::Set(F(), rstd);
    for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
      const V z = hn::Mul(load(x + i, count), factor);
      store(hn::Mul(z, load_all(gamma + i)), y + i, count);
    });
    if (a.rstd) a.rstd[r] = rstd;
  }
}

template <class T>
void rms_norm_backward_as(const RmsNormBackward& a, const T* dy, const T* x, T* dx) {
  const std::vector<float> weights = floats(a.gamma, a.cols, 1);
  const float* const gamma = weights.data();
  ColumnSums gamma_sums(a.dgamma.data ? a.cols : 0);
  for (int64_t r = 0; r < a.rows; ++r, dy += a.cols, x += a.cols, dx += a.cols) {
    const V rstd = hn::Set(F(), a.rstd[r]);
    const double dot = sum(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
      const V z = hn::Mul(load(x + i, count), rstd);
      return hn::Mul(hn::Mul(load(dy + i, count), load_all(gamma + i)), z);
    });
    if (float* const sums = gamma_sums.next_row()) {
      for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
        const V z = hn::Mul(load(x + i, count), rstd);
        store_all(hn::MulAdd(load(dy + i, count), z, load_all(sums + i)), sums + i);
      });
    }
    const V mean = hn::Set(F(), static_cast<float>(dot / static_cast<double>(a.cols)));
    for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
      const V z = hn::Mul(load(x + i, count), rstd);
      const V h = hn::Mul(load(dy + i, count), load_all(gamma + i));
      store(hn::Mul(rstd, hn::NegMulAdd(z, mean, h)), dx + i, count);
    });
  }
  gamma_sums.write(a.dgamma);
}

void run_rms_norm(const RmsNorm& a) {
  with_numbers(a.x, a.y, [&](const auto* x, auto* y) HWY_ATTR { rms_norm_as(a, x, y); });
}

void run_rms_norm_backward(const RmsNormBackward& a) {
  with_numbers(a.x, a.dx, [&](const auto* x, auto* dx) HWY_ATTR {
    rms_norm_backward_as(a, static_cast<decltype(x)>(a.dy.data), x, dx);
  });
}

#else
void run_rms_norm(const RmsNorm& a) { rms_norm_ref(a); }
void run_rms_norm_backward(const RmsNormBackward& a) { rms_norm_backward_ref(a); }
#endif
}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(run_rms_norm);
HWY_EXPORT(run_rms_norm_backward);
void rms_norm_vectors(const RmsNorm& a) { HWY_DYNAMIC_DISPATCH(run_rms_norm)(a); }
void rms_norm_backward_vectors(const RmsNormBackward& a) {
  HWY_DYNAMIC_DISPATCH(run_rms_norm_backward)(a);
}

}  // namespace dtypecheck::kernels
#endif
