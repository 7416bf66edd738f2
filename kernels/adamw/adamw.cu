// AdamW on a grid: as the reference, number by number and to the bit, four to a thread.
#include "kernels/adamw/adamw.h"
#include "kernels/adamw/random_bits.h"
#include "kernels/cuda/lists.h"

namespace dtypecheck::kernels {
namespace cuda {

struct SteppedPiece {
  int64_t n = 0, first_stretch = 0;
  Output weight;
  Weights gradient = Weights(Input());
  float *master = nullptr, *mean = nullptr, *square = nullptr;
  uint64_t seed = 0;
  int64_t first = 0;
  bool aligned = false;  // what is written
};
using StepTable = Table<SteppedPiece, 36>;

DTYPECHECK_DEVICE uint16_t round_stochastically(float value, uint32_t random) {
  if (value != value) return 0x7fc0;
  return static_cast<uint16_t>((bit_cast<uint32_t>(value) + (random >> 16)) >> 16);
}

template <int n>
DTYPECHECK_DEVICE void load_floats(const float* p, bool aligned, float (&to)[n]) {
  if (aligned && n == 4) {
    const Pack<float, n> pack = load_pack<n>(p);
    DTYPECHECK_UNROLL
    for (int k = 0; k < n; ++k) to[k] = pack.at[k];
  } else {
    DTYPECHECK_UNROLL
    for (int k = 0; k < n; ++k) to[k] = p[k];
  }
}

struct StepNumbers {
  static constexpr int kThreads = 256;
  using Shared = NoShared;

  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    for (int64_t stretch = t.block(); stretch < table.stretches; stretch += t.blocks()) {
      const SteppedPiece& piece = table.piece(stretch);
      each_of_stretch<kThreads, 4>(
          t, (stretch - piece.first_stretch) * kStretch, piece.n,
          [&](int64_t i, auto count) { step<decltype(count)::value>(piece, i); });
    }
  }

  template <int n>
  DTYPECHECK_DEVICE void step(const SteppedPiece& p, int64_t i) const {
    const bool aligned = n > 1 && p.aligned;
    float gradient[n], mean[n], square[n], weight[n];
    p.gradient.load(i, gradient);
    load_floats(p.mean + i, aligned, mean);
    load_floats(p.square + i, aligned, square);
    if (p.master) {
      load_floats(p.master + i, aligned, weight);
    } else {
      DTYPECHECK_UNROLL
      for (int k = 0; k < n; ++k) weight[k] = load_number(p.weight, i + k);
    }
    DTYPECHECK_UNROLL
    for (int k = 0; k < n; ++k) {
      const float g = gradient[k] * scale;
      mean[k] = fmaf(fmaf(gradient[k], scale, -mean[k]), f.mean_part, mean[k]);
      square[k] = fmaf(square[k], f.square_kept, g * g * f.square_part);
      const float spread = sqrtf(square[k]) / f.root_bias + f.eps;
      weight[k] = fmaf(-f.rate, mean[k] / spread, weight[k] * f.kept);
    }
    store_numbers_as(p.mean + i, aligned, mean);
    store_numbers_as(p.square + i, aligned, square);
    if (p.master) store_numbers_as(p.master + i, aligned, weight);
    if (!is_stochastic) return store_numbers(p.weight, aligned, i, weight);
    DTYPECHECK_UNROLL
    for (int k = 0; k < n; ++k) {
      const uint64_t index = static_cast<uint64_t>(p.first + i + k);
      const uint64_t key = random_key(p.seed, step_number, index >> 32);
      static_cast<BFloat16*>(p.weight.data)[i + k].bits =
          round_stochastically(weight[k], random_bits(key, static_cast<uint32_t>(index)));
    }
  }

  DTYPECHECK_DEVICE static float load_number(Output w, int64_t i) {
    if (w.dtype == Dtype::kFloat) return static_cast<const float*>(w.data)[i];
    if (w.dtype == Dtype::kHalf) return to_float(static_cast<const Half*>(w.data)[i]);
    return to_float(static_cast<const BFloat16*>(w.data)[i]);
  }

  StepTable table;
  AdamWFactors f;
  float scale;
  int64_t step_number;
  bool is_stochastic;
};

static bool have_same_factors(const AdamW& a, const AdamW& b) {
  return a.scale == b.scale && a.step == b.step && a.rate == b.rate && a.beta1 == b.beta1 &&
         a.beta2 == b.beta2 && a.eps == b.eps && a.decay == b.decay && a.rounding == b.rounding;
}

static void adamw_list_cuda(const AdamWList& list) {
  StepTable table;
  const auto run = [&](const AdamW& a) {
    launch(
        *a.device, std::min<int64_t>(table.stretches, 8 * multiprocessors()),
        StepNumbers{table, AdamWFactors(a), a.scale, a.step, a.rounding == Rounding::kStochastic});
    table = {};
  };
  for (size_t i = 0; i < list.steps.size(); ++i) {
    const AdamW& a = list.steps[i];
    const bool aligned = is_aligned(a.weight.data) && is_aligned(a.master) && is_aligned(a.mean) &&
                         is_aligned(a.square);
    table.add({a.n, 0, a.weight, Weights(a.gradient), a.master, a.mean, a.square, a.seed, a.first,
               aligned});
    const bool is_last = i + 1 == list.steps.size();
    if (is_last || table.is_full() || !have_same_factors(a, list.steps[i + 1])) run(a);
  }
}

static void adamw_cuda(const AdamW& a) { adamw_list_cuda({{&a, 1}}); }

}  // namespace cuda

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<AdamW>::run = cuda::adamw_cuda,
     DeviceVariant<AdamWList>::run = cuda::adamw_list_cuda, true);

}  // namespace dtypecheck::kernels
