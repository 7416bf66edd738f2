#include <vector>

#include "kernels/group_norm/group_norm.h"

namespace dtypecheck::kernels {

void group_norm_ref(const GroupNorm& a) {
  const int64_t group_size = a.channels / a.groups * a.spatial;
  const double n = static_cast<double>(group_size);
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const int64_t start = g * group_size, end = start + group_size;
    double sum = 0, squares = 0;
    for (int64_t i = start; i < end; ++i) sum += load(a.x, i);
    const double exact_mean = sum / n;
    for (int64_t i = start; i < end; ++i) {
      const double off = load(a.x, i) - exact_mean;
      squares += off * off;
    }
    const float mean = static_cast<float>(exact_mean);
    const float rstd = static_cast<float>(1 / std::sqrt(squares / n + a.eps));
    for (int64_t i = start; i < end; ++i) {
      const int64_t c = i / a.spatial % a.channels;
      const double z = (double{load(a.x, i)} - mean) * rstd;
      store(a.y, i, static_cast<float>(z * load_or(a.gamma, c, 1) + load_or(a.beta, c, 0)));
    }
    if (a.mean) a.mean[g] = mean;
    if (a.rstd) a.rstd[g] = rstd;
  }
}

void group_norm_backward_ref(const GroupNormBackward& a) {
  const int64_t group_size = a.channels / a.groups * a.spatial;
  const double n = static_cast<double>(group_size);
  std::vector<double> gamma(static_cast<size_t>(a.channels)), beta(gamma);
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const int64_t start = g * group_size, end = start + group_size;
    const double mean = a.mean[g], rstd = a.rstd[g];
    const auto channel = [&](int64_t i) { return i / a.spatial % a.channels; };
    const auto h = [&](int64_t i) {
      return double{load(a.dy, i)} * load_or(a.gamma, channel(i), 1);
    };
    const auto z = [&](int64_t i) { return (load(a.x, i) - mean) * rstd; };
    double sum = 0, dot = 0;
    for (int64_t i = start; i < end; ++i) {
      sum += h(i);
      dot += h(i) * z(i);
      gamma[static_cast<size_t>(channel(i))] += load(a.dy, i) * z(i);
      beta[static_cast<size_t>(channel(i))] += load(a.dy, i);
    }
    for (int64_t i = start; i < end; ++i) {
      store(a.dx, i, static_cast<float>(rstd * (h(i) - sum / n - z(i) * dot / n)));
    }
  }
  for (int64_t c = 0; c < a.channels; ++c) {
    if (a.dgamma.data) store(a.dgamma, c, static_cast<float>(gamma[static_cast<size_t>(c)]));
    if (a.dbeta.data) store(a.dbeta, c, static_cast<float>(beta[static_cast<size_t>(c)]));
  }
}

}  // namespace dtypecheck::kernels
