// Cat on a grid: a launch for each piece, which copies its rows to their place and casts as it
// does.
#include <algorithm>

#include "kernels/cat/cat.h"
#include "kernels/cuda/elements.h"

namespace dtypecheck::kernels {
namespace cuda {

template <int n>
struct CopyPiece {
  static constexpr int kThreads = 256;
  using Shared = NoShared;
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    const int64_t packs = (cols + n - 1) / n, all = rows * packs;
    for (int64_t i = t.block() * kThreads + t.index(); i < all; i += t.blocks() * kThreads) {
      const int64_t row = i / packs, column = i % packs * n;
      float numbers[n];
      x.load(row * row_stride + column, numbers);
      store_numbers(y, n > 1, row * y_cols + y_first + column, numbers);
    }
  }
  int64_t rows, cols, row_stride;
  Weights x;
  int64_t y_cols, y_first;
  Output y;
};

static void cat_cuda(const Cat& c) {
  int64_t y_cols = 0, y_first = 0;
  for (const CatPiece& piece : c.pieces) y_cols += piece.cols;
  for (const CatPiece& piece : c.pieces) {
    constexpr int kPack = 8;
    const auto whole = [](int64_t n) { return n % kPack == 0; };
    const bool is_wide = is_aligned(piece.x.data) && is_aligned(c.y.data) && whole(piece.cols) &&
                         whole(y_first) &&
                         (c.rows == 1 || (whole(piece.row_stride) && whole(y_cols)));
    const auto copy = [&](auto pack) {
      constexpr int n = decltype(pack)::value;
      using Kernel = CopyPiece<n>;
      const int64_t blocks = parts_of(c.rows * parts_of(piece.cols, n), Kernel::kThreads);
      launch(*c.device, std::min<int64_t>(blocks, 32 * multiprocessors()),
             Kernel{c.rows, piece.cols, piece.row_stride, Weights(piece.x), y_cols, y_first, c.y});
    };
    is_wide ? copy(std::integral_constant<int, kPack>()) : copy(std::integral_constant<int, 1>());
    y_first += piece.cols;
  }
}

}  // namespace cuda

[[maybe_unused]] static const bool are_loaded = (DeviceVariant<Cat>::run = cuda::cat_cuda, true);

}  // namespace dtypecheck::kernels
