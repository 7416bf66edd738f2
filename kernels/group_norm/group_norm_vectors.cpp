#include "kernels/group_norm/group_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/group_norm/group_norm_vectors.cpp"
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
#if DTYPECHECK_VECTORS

template <class T>
void group_norm_as(const GroupNorm& a, const T* x, T* y) {
  const std::vector<float> gamma = floats(a.gamma, a.channels, 1),
                           beta = floats(a.beta, a.channels, 0);
  const int64_t channels = a.channels / a.groups;
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const Moments m = moments(x, channels * a.spatial);
    const float mean = static_cast<float>(m.mean);
    const float rstd = static_cast<float>(1 / std::sqrt(m.variance + a.eps));
    const V center = hn::Set(F(), mean), factor = hn::Set(F(), rstd);
    const size_t first = static_cast<size_t>(g % a.groups * channels);
    for (int64_t c = 0; c < channels; ++c, x += a.spatial, y += a.spatial) {
      const V weight = hn::Set(F(), gamma[first + static_cast<size_t>(c)]);
      const V bias = hn::Set(F(), beta[first + static_cast<size_t>(c)]);
      for_each_vector(a.spatial, [=](int64_t i, size_t count) HWY_ATTR {
        const V z = hn::Mul(hn::Sub(load(x + i, count), center), factor);
        store(hn::MulAdd(z, weight, bias), y + i, count);
      });
    }
    if (a.mean) a.mean[g] = mean;
    if (a.rstd) a.rstd[g] = rstd;
  }
}

// dx of one group, given the sums of h and of h z over it divided by its size.
template <class T>
void group_gradient(const GroupNormBackward& a, int64_t g, const float* gamma, double mean_h,
                    double mean_dot, const T* dy, const T* x, T* dx) {
  const V center = hn::Set(F(), a.mean[g]), rstd = hn::Set(F(), a.rstd[g]);
  const V off = hn::Set(F(), static_cast<float>(mean_h)),
          slope = hn::Set(F(), static_cast<float>(mean_dot));
  for (int64_t c = 0; c < a.channels / a.groups;
       ++c, dy += a.spatial, x += a.spatial, dx += a.spatial) {
    const V weight = hn::Set(F(), gamma[c]);
    for_each_vector(a.spatial, [=](int64_t i, size_t count) HWY_ATTR {
      const V z = hn::Mul(hn::Sub(load(x + i, count), center), rstd);
      const V h = hn::MulSub(load(dy + i, count), weight, off);
      store(hn::Mul(rstd, hn::NegMulAdd(z, slope, h)), dx + i, count);
    });
  }
}

template <class T>
void group_norm_backward_as(const GroupNormBackward& a, const T* dy, const T* x, T* dx) {
  const std::vector<float> gamma = floats(a.gamma, a.channels, 1);
  std::vector<double> dgamma(static_cast<size_t>(a.channels)), dbeta(dgamma);
  const int64_t channels = a.channels / a.groups, size = channels * a.spatial;
  for (int64_t g = 0; g < a.samples * a.groups; ++g, dy += size, x += size, dx += size) {
    const V center = hn::Set(F(), a.mean[g]), rstd = hn::Set(F(), a.rstd[g]);
    const size_t first = static_cast<size_t>(g % a.groups * channels);
    double sum_h = 0, sum_dot = 0;
    for (int64_t c = 0; c < channels; ++c) {
      const T *const channel_dy = dy + c * a.spatial, *const channel_x = x + c * a.spatial;
      const TwoSums sums =
          two_sums(a.spatial, [=](int64_t i, size_t count, V& sum, V& dot) HWY_ATTR {
            const V here = load(channel_dy + i, count);
            const V z = hn::Mul(hn::Sub(load(channel_x + i, count), center), rstd);
            sum = hn::Add(sum, here);
            dot = hn::MulAdd(here, z, dot);
          });
      const size_t channel = first + static_cast<size_t>(c);
      sum_h += gamma[channel] * sums.first;
      sum_dot += gamma[channel] * sums.second;
      dbeta[channel] += sums.first;
      dgamma[channel] += sums.second;
    }
    const double n = static_cast<double>(size);
    group_gradient(a, g, gamma.data() + first, sum_h / n, sum_dot / n, dy, x, dx);
  }
  for (int64_t c = 0; c < a.channels; ++c) {
    const size_t channel = static_cast<size_t>(c);
    if (a.dgamma.data) kernels::store(a.dgamma, c, static_cast<float>(dgamma[channel]));
    if (a.dbeta.data) kernels::store(a.dbeta, c, static_cast<float>(dbeta[channel]));
  }
}

void run_group_norm(const GroupNorm& a) {
  with_numbers(a.x, a.y, [&](const auto* x, auto* y) HWY_ATTR { group_norm_as(a, x, y); });
}

void run_group_norm_backward(const GroupNormBackward& a) {
  with_numbers(a.x, a.dx, [&](const auto* x, auto* dx) HWY_ATTR {
    group_norm_backward_as(a, static_cast<decltype(x)>(a.dy.data), x, dx);
  });
}

#else
void run_group_norm(const GroupNorm& a) { group_norm_ref(a); }
void run_group_norm_backward(const GroupNormBackward& a) { group_norm_backward_ref(a); }
#endif
}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(run_group_norm);
HWY_EXPORT(run_group_norm_backward);
void group_norm_vectors(const GroupNorm& a) { HWY_DYNAMIC_DISPATCH(run_group_norm)(a); }
void group_norm_backward_vectors(const GroupNormBackward& a) {
  HWY_DYNAMIC_DISPATCH(run_group_norm_backward)(a);
}

}  // namespace dtypecheck::kernels
#endif
