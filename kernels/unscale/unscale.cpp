#include "kernels/unscale/unscale.h"

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void unscale_vectors(const Unscale&);

static constexpr Variant<Unscale> kVariants[] = {
    {"vectors", vectors, unscale_vectors},
    {"ref", always, unscale_ref},
};

std::span<const Variant<Unscale>> unscale_variants() { return kVariants; }

void unscale(const Unscale& a) {
  require(a.n >= 0, "unscale", "n of 0 or more");
  require(a.sum_of_squares, "unscale", "a place for the sum of squares, got null");
  require_numbers(a.x, "unscale", "x", /*optional=*/a.n == 0);
  require_numbers(Output{a.y}, "unscale", "y", /*optional=*/true);
  run_first(unscale_variants(), a);
}

}  // namespace dtypecheck::kernels
