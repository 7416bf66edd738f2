#include <vector>

#include "kernels/group_norm/group_norm.h"

namespace dtypecheck::kernels {

// use(index in x, channel) for each number of group g.
template <class Arguments, class Use>
static void for_each_of_group(const Arguments& a, int64_t g, Use use) {
  const int64_t in_group = a.channels / a.groups, sample = g / a.groups;
  for (int64_t c = g % a.groups * in_group; c < (g % a.groups + 1) * in_group; ++c) {
    for (int64_t s = 0; s < a.spatial; ++s) {
      use(a.layout == Layout::kChannelsFirst ? (sample * a.channels + c) * a.spatial + s
                                             : (sample * a.spatial + s) * a.channels + c,
          c);
    }
  }
}

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

void group_norm_ref(const GroupNorm& a) {
  const double n = static_cast<double>(a.channels / a.groups * a.spatial);
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    double sum = 0, squares = 0;
    for_each_of_group(a, g, [&](int64_t i, int64_t) { sum += load(a.x, i); });
    const double exact_mean = sum / n;
    for_each_of_group(a, g, [&](int64_t i, int64_t) {
      const double off = load(a.x, i) - exact_mean;
      squares += off * off;
    });
    const float mean = static_cast<float>(exact_mean);
    const float rstd = static_cast<float>(1 / std::sqrt(squares / n + a.eps));
    for_each_of_group(a, g, [&](int64_t i, int64_t c) {
      const double z = (double{load(a.x, i)} - mean) * rstd;
      const double y = z * load_or(a.gamma, c, 1) + load_or(a.beta, c, 0);
      store(a.y, i, static_cast<float>(a.silu ? y * sigmoid(y) : y));
    });
    if (a.mean) a.mean[g] = mean;
    if (a.rstd) a.rstd[g] = rstd;
  }
}

void group_norm_backward_ref(const GroupNormBackward& a) {
  const double n = static_cast<double>(a.channels / a.groups * a.spatial);
  std::vector<double> gamma(static_cast<size_t>(a.channels)), beta(gamma);
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const double mean = a.mean[g], rstd = a.rstd[g];
    const auto z = [&](int64_t i) { return (load(a.x, i) - mean) * rstd; };
    // By the norm's result.
    const auto dy = [&](int64_t i, int64_t c) {
      const double given = load(a.dy, i);
      if (!a.silu) return given;
      const double y = z(i) * load_or(a.gamma, c, 1) + load_or(a.beta, c, 0), s = sigmoid(y);
      return given * s * (1 + y * (1 - s));
    };
    const auto h = [&](int64_t i, int64_t c) { return dy(i, c) * load_or(a.gamma, c, 1); };
    double sum = 0, dot = 0;
    for_each_of_group(a, g, [&](int64_t i, int64_t c) {
      sum += h(i, c);
      dot += h(i, c) * z(i);
      gamma[static_cast<size_t>(c)] += dy(i, c) * z(i);
      beta[static_cast<size_t>(c)] += dy(i, c);
    });
    for_each_of_group(a, g, [&](int64_t i, int64_t c) {
      store(a.dx, i, static_cast<float>(rstd * (h(i, c) - sum / n - z(i) * dot / n)));
    });
  }
  for (int64_t c = 0; c < a.channels; ++c) {
    if (a.dgamma.data) store(a.dgamma, c, static_cast<float>(gamma[static_cast<size_t>(c)]));
    if (a.dbeta.data) store(a.dbeta, c, static_cast<float>(beta[static_cast<size_t>(c)]));
  }
}

}  // namespace dtypecheck::kernels
