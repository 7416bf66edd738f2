// The global norm on a grid, and unscaling as that of one gradient: each number is read once, and y
// written as its square is added up in double; a last block adds up the stretches, in order.
#include "kernels/cuda/lists.h"
#include "kernels/global_norm/global_norm.h"
#include "kernels/unscale/unscale.h"

namespace dtypecheck::kernels {
namespace cuda {

struct UnscaledPiece {
  int64_t n = 0, first_stretch = 0;
  Weights x = Weights(Input());
  float* y = nullptr;
  bool y_aligned = false;
};
using UnscaleTable = Table<UnscaledPiece, 64>;

struct UnscaleStretches {
  static constexpr int kThreads = 256, kWarps = kThreads / kWarp;
  struct Shared {
    double sums[kWarps];
  };
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    for (int64_t stretch = t.block(); stretch < table.stretches; stretch += t.blocks()) {
      const UnscaledPiece& piece = table.piece(stretch);
      double sum = 0;
      each_of_stretch<kThreads, 8>(
          t, (stretch - piece.first_stretch) * kStretch, piece.n, [&](int64_t i, auto count) {
            constexpr int n = decltype(count)::value;
            float y[n];
            piece.x.load(i, y);
            DTYPECHECK_UNROLL
            for (int k = 0; k < n; ++k) {
              y[k] *= factor;
              sum = fma(static_cast<double>(y[k]), static_cast<double>(y[k]), sum);
            }
            if (piece.y) store_numbers_as(piece.y + i, n > 1 && piece.y_aligned, y);
          });
      sum = warp_sum(t, sum);
      if (t.index() % kWarp == 0) shared.sums[t.index() / kWarp] = sum;
      t.sync();
      if (t.index() == 0) {
        for (int i = 1; i < kWarps; ++i) sum += shared.sums[i];
        partial[stretch] = sum;
      }
      t.sync();
    }
  }
  UnscaleTable table;
  float factor;
  double* partial;
};

struct SumStretches {
  static constexpr int kThreads = 1024, kWarps = kThreads / kWarp;
  struct Shared {
    double sums[kWarps];
  };
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    double sum = 0;
    for (int64_t i = t.index(); i < count; i += kThreads) sum += partial[i];
    sum = warp_sum(t, sum);
    if (t.index() % kWarp == 0) shared.sums[t.index() / kWarp] = sum;
    t.sync();
    if (t.index() != 0) return;
    for (int i = 1; i < kWarps; ++i) sum += shared.sums[i];
    *to = root ? sqrt(sum) : sum;
  }
  int64_t count;
  const double* partial;
  bool root;
  double* to;
};

static void unscale_all(const Device& device, std::span<const Gradient> gradients, float factor,
                        bool root, double* to) {
  int64_t all = 0, done = 0;
  for (const Gradient& g : gradients) all += parts_of(g.n, kStretch);
  double* const partial = room<double>(device, all);
  UnscaleTable table;
  const auto run = [&] {
    launch(device, std::min<int64_t>(table.stretches, 8 * multiprocessors()),
           UnscaleStretches{table, factor, partial + done});
    done += table.stretches;
    table = {};
  };
  for (const Gradient& g : gradients) {
    table.add({g.n, 0, Weights(g.x), g.y, is_aligned(g.y)});
    if (table.is_full()) run();
  }
  run();
  launch(device, 1, SumStretches{all, partial, root, to});
}

static void global_norm_cuda(const GlobalNorm& g) {
  unscale_all(*g.device, g.gradients, g.factor, /*root=*/true, g.norm);
}

static void unscale_cuda(const Unscale& a) {
  const Gradient one{a.n, a.x, a.y};
  unscale_all(*a.device, {&one, 1}, a.factor, /*root=*/false, a.sum_of_squares);
}

}  // namespace cuda

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<GlobalNorm>::run = cuda::global_norm_cuda,
     DeviceVariant<Unscale>::run = cuda::unscale_cuda, true);

}  // namespace dtypecheck::kernels
