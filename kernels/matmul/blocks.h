// blocks.h: a product of two matrices as most libraries do it (Goto and van de Geijn 2008): a block
// of a's rows and one of b's columns, so small that caches hold them, are copied in the order in
// which they are read ("packed"), and a tile of the result, as many numbers as registers hold, is
// summed at a time. The conversion of Half and BFloat16 is part of the copying, which is a
// hundredth of the work. What is fast on a processor is its Tile; the order of the blocks is here.
#pragma once

#include <type_traits>

#include "kernels/matmul/matmul.h"

namespace dtypecheck::kernels {

// A factor, or part of it: numbers of an outer dimension (a's rows, b's columns) by the inner one.
struct View {
  Input numbers;
  int64_t outer_stride = 0, inner_stride = 0;

  View at(int64_t outer, int64_t inner) const {
    return {from(numbers, outer * outer_stride + inner * inner_stride), outer_stride, inner_stride};
  }
};

// Sums of a tile, on their way to y.
struct TileSums {
  const float* sums = nullptr;
  int64_t sums_stride = 0;  // Tile::cols
  int64_t rows = 0, cols = 0;
  float* before = nullptr;  // what the blocks before have summed; null: nothing
  float* after = nullptr;   // where the sums go, which may be `before`; null: to y, as the last
  int64_t stride = 0;       // of before and after
  Input bias;               // of this tile's columns, added with the last
  Output y;
  int64_t y_stride = 0;
};

// What a processor does with packed blocks. A word is four bytes: one Float, or two BFloat16 that
// follow each other in the inner dimension.
struct Tile {
  int64_t rows = 0, cols = 0;  // of the result
  int64_t numbers_in_word = 1;
  // `count` of the outer dimension by `depth` of the inner one, as words [inner][width]; zeros
  // where count < width and after an odd depth. Writes at most kSlack words past the last.
  void (*pack)(const View& from, int64_t count, int64_t depth, int64_t width, float* to) = nullptr;
  // sums[rows][cols], of which the first `count` rows are wanted; or they are added to it.
  void (*multiply)(int64_t words, int64_t count, const float* a, const float* b, float* sums,
                   bool adds) = nullptr;
  // Likewise of few rows, of which a has the words one after the other, zeros behind them, and b's
  // numbers as they lie, which do so along the inner dimension. Null: there is no such.
  void (*multiply_few)(int64_t depth, int64_t rows, const float* a, int64_t a_stride, const View& b,
                       int64_t cols, float* sums, int64_t sums_stride) = nullptr;
  void (*finish)(const TileSums&) = nullptr;
};
inline constexpr int64_t kSlack = 16;

// act(row, col, how many rows, how many columns), these as integral_constants: kRows by kCols as
// long as there are as many, and one by one what is left.
template <int kRows, int kCols, class Act>
void for_each_few(int64_t rows, int64_t cols, const Act& act) {
  const auto columns = [&](int64_t row, auto count) {
    int64_t c = 0;
    for (; c + kCols <= cols; c += kCols) act(row, c, count, std::integral_constant<int, kCols>());
    for (; c < cols; ++c) act(row, c, count, std::integral_constant<int, 1>());
  };
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) columns(r, std::integral_constant<int, kRows>());
  if (rows - r == 3) columns(r, std::integral_constant<int, 3>());
  if (rows - r == 2) columns(r, std::integral_constant<int, 2>());
  if (rows - r == 1) columns(r, std::integral_constant<int, 1>());
}

Tile vectors_tile();   // where has_vectors()
Tile bfloat16_tile();  // where has_bfloat16_vectors()
inline bool multiplies_bfloat16(Compute compute, Dtype a, Dtype b) {
  return compute == Compute::kBFloat16 || (a == Dtype::kBFloat16 && b == Dtype::kBFloat16);
}

struct Product {
  int64_t rows = 0, cols = 0, inner = 0;
  View a;      // outer: rows
  View b;      // outer: cols
  Input bias;  // of columns
  Output y;
  int64_t y_stride = 0;
};
void matmul_in_blocks(const Matmul& arguments, const Tile& tile);

}  // namespace dtypecheck::kernels
