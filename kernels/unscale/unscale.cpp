#include "kernels/unscale/unscale.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/threads.h"

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void unscale_vectors(const Unscale&);

template <>
DeviceVariant<Unscale>::Run DeviceVariant<Unscale>::run = nullptr;

static constexpr Variant<Unscale> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(Unscale)  //
    {"vectors", vectors, unscale_vectors},
    {"ref", always, unscale_ref},
};

std::span<const Variant<Unscale>> unscale_variants() { return kVariants; }

void unscale(const Unscale& a) {
  require(a.n >= 0, "unscale", "n of 0 or more");
  require(a.sum_of_squares, "unscale", "a place for the sum of squares, got null");
  require_numbers(a.x, "unscale", "x", /*optional=*/a.n == 0);
  require_numbers(Output{a.y}, "unscale", "y", /*optional=*/true);
  const int64_t parts = (a.n + kPartNumbers - 1) / kPartNumbers;
  if (parts <= 1 || a.device) return run_first(unscale_variants(), a);
  std::vector<double> sums(static_cast<size_t>(parts));
  for_each_part(parts, [&](int64_t i) {
    const int64_t first = i * kPartNumbers;
    Unscale part = a;
    part.n = std::min(kPartNumbers, a.n - first);
    part.x = from(a.x, first);
    if (a.y) part.y = a.y + first;
    part.sum_of_squares = &sums[static_cast<size_t>(i)];
    run_first(unscale_variants(), part);
  });
  *a.sum_of_squares = std::accumulate(sums.begin(), sums.end(), 0.);
}

}  // namespace dtypecheck::kernels
