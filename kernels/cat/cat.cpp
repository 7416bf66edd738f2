#include "kernels/cat/cat.h"

#include <fmt/format.h>

namespace dtypecheck::kernels {

// The variants, each in a file of its name.
void cat_vectors(const Cat&);

template <>
DeviceVariant<Cat>::Run DeviceVariant<Cat>::run = nullptr;

static constexpr Variant<Cat> kVariants[] = {
    DTYPECHECK_GRID_VARIANT(Cat)  //
    {"vectors", vectors, cat_vectors},
    {"ref", always, cat_ref},
};

std::span<const Variant<Cat>> cat_variants() { return kVariants; }

void cat(const Cat& c) {
  require(c.rows >= 0, "cat", "rows of 0 or more");
  int64_t cols = 0;
  for (size_t i = 0; i < c.pieces.size(); ++i) {
    const CatPiece& piece = c.pieces[i];
    require(piece.cols >= 0, "cat", "cols of 0 or more");
    require_numbers(piece.x, "cat", fmt::format("pieces[{}]", i), c.rows * piece.cols == 0);
    cols += piece.cols;
  }
  require_numbers(c.y, "cat", "y", c.rows * cols == 0);
  run_first(cat_variants(), c);
}

}  // namespace dtypecheck::kernels
