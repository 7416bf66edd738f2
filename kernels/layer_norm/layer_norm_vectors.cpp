#include "kernels/layer_norm/layer_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layer_norm/layer_norm_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
#if DTYPECHECK_VECTORS

template <class T>
void layer_norm_as(const LayerNorm& a, const T* x, T* y) {
  const std::vector<float> weights = floats(a.gamma, a.cols, 1), biases = floats(a.beta, a.cols, 0);
  const float *const gamma = weights.data(), *const beta = biases.data();
  for (int64_t r = 0; r < a.rows; ++r, x += a.cols, y += a.cols) {
    const Moments m = moments(x, a.cols);
    const float mean = static_cast<float>(m.mean);
    const float rstd = static_cast<float>(1 / std::sqrt(m.variance + a.eps));
    const V center = hn::Set(F(), mean), factor = hn::Set(F(), rstd);
    for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
      const V z = hn::Mul(hn::Sub(load(x + i, count), center), factor);
      store(hn::MulAdd(z, load_all(gamma + i), load_all(beta + i)), y + i, count);
    });
    if (a.mean) a.mean[r] = mean;
    if (a.rstd) a.rstd[r] = rstd;
  }
}

template <class T>
void layer_norm_backward_as(const LayerNormBackward& a, const T* dy, const T* x, T* dx) {
  const std::vector<float> weights = floats(a.gamma, a.cols, 1);
  const float* const gamma = weights.data();
  const double n = static_cast<double>(a.cols);
  ColumnSums gamma_sums(a.dgamma.data ? a.cols : 0), beta_sums(a.dbeta.data ? a.cols : 0);
  for (int64_t r = 0; r < a.rows; ++r, dy += a.cols, x += a.cols, dx += a.cols) {
    const V center = hn::Set(F(), a.mean[r]), rstd = hn::Set(F(), a.rstd[r]);
    const auto z_at = [=](int64_t i, size_t count)
                          HWY_ATTR { return hn::Mul(hn::Sub(load(x + i, count), center), rstd); };
    const TwoSums sums = two_sums(a.cols, [=](int64_t i, size_t count, V& sum, V& dot) HWY_ATTR {
      const V h = hn::Mul(load(dy + i, count), load_all(gamma + i));
      sum = hn::Add(sum, h);
      dot = hn::MulAdd(h, z_at(i, count), dot);
    });
    if (float* const to = gamma_sums.next_row()) {
      for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
        store_all(hn::MulAdd(load(dy + i, count), z_at(i, count), load_all(to + i)), to + i);
      });
    }
    if (float* const to = beta_sums.next_row()) {
      for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
        store_all(hn::Add(load(dy + i, count), load_all(to + i)), to + i);
      });
    }
    const V mean_h = hn::Set(F(), static_cast<float>(sums.first / n));
    const V mean_dot = hn::Set(F(), static_cast<float>(sums.second / n));
    for_each_vector(a.cols, [=](int64_t i, size_t count) HWY_ATTR {
      const V h = hn::MulSub(load(dy + i, count), load_all(gamma + i), mean_h);
      store(hn::Mul(rstd, hn::NegMulAdd(z_at(i, count), mean_dot, h)), dx + i, count);
    });
  }
  if (a.dgamma.data) gamma_sums.write(a.dgamma);
  if (a.dbeta.data) beta_sums.write(a.dbeta);
}

void run_layer_norm(const LayerNorm& a) {
  with_numbers(a.x, a.y, [&](const auto* x, auto* y) HWY_ATTR { layer_norm_as(a, x, y); });
}

void run_layer_norm_backward(const LayerNormBackward& a) {
  with_numbers(a.x, a.dx, [&](const auto* x, auto* dx) HWY_ATTR {
    layer_norm_backward_as(a, static_cast<decltype(x)>(a.dy.data), x, dx);
  });
}

#else
void run_layer_norm(const LayerNorm& a) { layer_norm_ref(a); }
void run_layer_norm_backward(const LayerNormBackward& a) { layer_norm_backward_ref(a); }
#endif
}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(run_layer_norm);
HWY_EXPORT(run_layer_norm_backward);
void layer_norm_vectors(const LayerNorm& a) { HWY_DYNAMIC_DISPATCH(run_layer_norm)(a); }
void layer_norm_backward_vectors(const LayerNormBackward& a) {
  HWY_DYNAMIC_DISPATCH(run_layer_norm_backward)(a);
}

}  // namespace dtypecheck::kernels
#endif
