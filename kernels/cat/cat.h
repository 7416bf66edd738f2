// cat.h: tensors one after the other along a dimension, each cast to y's dtype as it is copied.
// Where LibTorch promotes (Half beside Float gives Float) and a cast follows, this is one pass.
// With n = the sum of all cols:
//   y[r] = pieces[0][r], pieces[1][r], …      for each of `rows`, the dimensions before that one
// A number is rounded once, to nearest; NaN stays NaN. Runs on the threads of threads.h.
#pragma once

#include <span>

#include "kernels/element.h"
#include "kernels/variant.h"

namespace dtypecheck::kernels {

struct CatPiece {
  Input x;
  int64_t cols = 0;        // numbers of a row, which lie together; 0: an empty tensor, may be null
  int64_t row_stride = 0;  // from one row to the next, in numbers
};

struct Cat {
  int64_t rows = 0;
  std::span<const CatPiece> pieces;
  Output y;                        // rows x n, contiguous; overlaps no piece
  const Device* device = nullptr;  // where all numbers are on a GPU
};

void cat(const Cat& arguments);  // throws InputError for arguments that are not as above
std::span<const Variant<Cat>> cat_variants();

void cat_ref(const Cat& arguments);

}  // namespace dtypecheck::kernels
