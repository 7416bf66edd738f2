// lists.h: kernels over many tensors. A table of them goes as the kernel's argument, of which there
// are 4 kB: so nothing is copied to the device before, and nothing waits; a model of 1,680 tensors
// takes some launches. The tensors are cut into stretches, and a block has one after the other.
#pragma once

#include <algorithm>

#include "kernels/cuda/elements.h"

namespace dtypecheck::kernels::cuda {

inline constexpr int64_t kStretch = 1 << 15;

// `Piece` has n, its numbers, and first, which of all stretches is its first.
template <class Piece, int kMost>
struct Table {
  // Of that stretch.
  DTYPECHECK_DEVICE const Piece& piece(int64_t stretch) const {
    int low = 0, high = count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (pieces[middle].first_stretch <= stretch)
        low = middle;
      else
        high = middle - 1;
    }
    return pieces[low];
  }
  bool is_full() const { return count == kMost; }
  void add(Piece piece) {
    if (piece.n == 0) return;
    piece.first_stretch = stretches;
    stretches += parts_of(piece.n, kStretch);
    pieces[count++] = piece;
  }

  int count = 0;
  int64_t stretches = 0;
  Piece pieces[kMost];
};

// use(first number, as many as stand in a pack) and then use(first number, 1) for the numbers of a
// stretch that this thread of kThreads has.
template <int kThreads, int kPack, class Use>
DTYPECHECK_DEVICE void each_of_stretch(const Thread& t, int64_t first, int64_t n, Use use) {
  const int64_t end = first + kStretch < n ? first + kStretch : n;
  const int64_t whole = first + (end - first) / kPack * kPack;
  for (int64_t i = first + t.index() * kPack; i < whole; i += kThreads * kPack)
    use(i, std::integral_constant<int, kPack>());
  for (int64_t i = whole + t.index(); i < end; i += kThreads)
    use(i, std::integral_constant<int, 1>());
}

}  // namespace dtypecheck::kernels::cuda
