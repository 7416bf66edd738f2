#include "kernels/global_norm/global_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kernels/threads.h"
#include "kernels/unscale/unscale.h"

namespace dtypecheck::kernels {

static void global_norm_vectors(const GlobalNorm&);

template <>
DeviceVariant<GlobalNorm>::Run DeviceVariant<GlobalNorm>::run = nullptr;

static constexpr Variant<GlobalNorm> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(GlobalNorm)  //
    {"vectors", vectors, global_norm_vectors},
    {"ref", always, global_norm_ref},
};

std::span<const Variant<GlobalNorm>> global_norm_variants() { return kVariants; }

void global_norm(const GlobalNorm& g) {
  const char* const name = "global_norm";
  require(g.norm, name, "a place for the norm, got null");
  for (size_t i = 0; i < g.gradients.size(); ++i) {
    const Gradient& gradient = g.gradients[i];
    require(gradient.n >= 0, name, "gradients of 0 or more numbers");
    require_numbers(gradient.x, name, fmt::format("gradients[{}].x", i), gradient.n == 0);
    require_numbers(Output{gradient.y}, name, fmt::format("gradients[{}].y", i), true);
  }
  run_first(global_norm_variants(), g);
}

// Gradients are cut into stretches, of which each is unscaled for itself, and whose sums are added
// in their order.
static void global_norm_vectors(const GlobalNorm& g) {
  struct Stretch {
    const Gradient* gradient;
    int64_t first;
  };
  std::vector<Stretch> stretches;
  for (const Gradient& gradient : g.gradients) {
    for (int64_t first = 0; first < gradient.n; first += kPartNumbers)
      stretches.push_back({&gradient, first});
  }
  std::vector<double> sums(stretches.size());
  // Small ones, as biases are, go together.
  constexpr int64_t kStretches = 8;
  const int64_t count = static_cast<int64_t>(stretches.size());
  for_each_part((count + kStretches - 1) / kStretches, [&](int64_t part) {
    for (int64_t i = part * kStretches; i < std::min(count, (part + 1) * kStretches); ++i) {
      const auto& [gradient, first] = stretches[static_cast<size_t>(i)];
      unscale({.n = std::min(kPartNumbers, gradient->n - first),
               .x = from(gradient->x, first),
               .factor = g.factor,
               .y = gradient->y ? gradient->y + first : nullptr,
               .sum_of_squares = &sums[static_cast<size_t>(i)]});
    }
  });
  double sum = 0;
  for (const double each : sums) sum += each;
  *g.norm = std::sqrt(sum);
}

}  // namespace dtypecheck::kernels
