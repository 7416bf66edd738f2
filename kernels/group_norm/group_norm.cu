// Group norm on a grid. A group may be half a million numbers and a batch have 32 of them, so that
// a block for each would leave most of the machine idle: blocks go over parts of a channel (NCHW)
// or of all channels (NHWC, where a channel for itself cannot be read well), and leave sums for
// each channel and part, which a small kernel adds up by group, in order: no atomics, so the bits
// are the same from run to run. A last kernel reads the numbers again, out of the L2 cache where
// they fit, and writes. Both layouts are one code: a thread has a pack of numbers at each place,
// which are of one channel or of as many.
#include <algorithm>

#include "kernels/cuda/elements.h"
#include "kernels/group_norm/group_norm.h"

namespace dtypecheck::kernels {
namespace cuda {

// How the numbers are cut. A block has `per_part` numbers of a channel, or places of kWarp packs of
// channels.
struct Cut {
  int64_t samples, channels, spatial, groups, in_group;
  int64_t parts, per_part, tiles;  // tiles: of the channels (NHWC)
  int64_t blocks() const { return samples * tiles * parts; }
};

inline constexpr int kPlaceThreads = 256, kPlaceWarps = kPlaceThreads / kWarp;
// A thread adds up so many packs in Float; it has as many as this, where there are enough.
inline constexpr int64_t kMostPacks = 128, kFewestPacks = 4;

template <bool kLast, int kWidth>
struct Places {
  static constexpr int kSlots = kLast ? kWidth : 1;  // channels of a thread
  DTYPECHECK_DEVICE static constexpr int slot(int k) { return kLast ? k : 0; }

  static Cut cut(int64_t samples, int64_t channels, int64_t spatial, int64_t groups) {
    Cut c{samples, channels, spatial, groups, channels / groups, 1, 0, channels};
    require(channels <= INT32_MAX, "group_norm", "fewer than 2^31 channels on a GPU");
    const int64_t step = kLast ? kPlaceWarps : kPlaceThreads * kWidth;  // of a block
    if (kLast) c.tiles = parts_of(channels, kWarp * kWidth);
    const int64_t wanted = parts_of(4 * multiprocessors(), std::max<int64_t>(1, samples * c.tiles));
    c.parts = std::clamp(
        wanted, parts_of(spatial, step * kMostPacks),
        std::max(parts_of(spatial, step * kFewestPacks), parts_of(spatial, step * kMostPacks)));
    c.per_part = parts_of(parts_of(spatial, c.parts), step) * step;
    c.parts = parts_of(spatial, c.per_part);
    return c;
  }

  // Of the i-th block of those that the cut has.
  DTYPECHECK_DEVICE Places(const Thread& t, const Cut& given, int64_t i)
      : c(given), part(i % c.parts), sample(i / c.parts / c.tiles), thread(t.index()) {
    const int64_t tile = i / c.parts % c.tiles;
    channel = kLast ? (tile * kWarp + thread % kWarp) * kWidth : tile;
    inside = channel < c.channels;
  }
  // use(index of the first number of a pack)
  template <class Use>
  DTYPECHECK_DEVICE void each(Use use) const {
    if (!inside) return;
    const int64_t end = (part + 1) * c.per_part < c.spatial ? (part + 1) * c.per_part : c.spatial;
    if constexpr (kLast) {
      for (int64_t p = part * c.per_part + thread / kWarp; p < end; p += kPlaceWarps)
        use((sample * c.spatial + p) * c.channels + channel);
    } else {
      const int64_t base = (sample * c.channels + channel) * c.spatial;
      for (int64_t p = part * c.per_part + thread * kWidth; p < end; p += kPlaceThreads * kWidth)
        use(base + p);
    }
  }
  // In 32 bits, which the machine divides by itself.
  DTYPECHECK_DEVICE int64_t group(int s) const {
    return sample * c.groups +
           static_cast<uint32_t>(channel + s) / static_cast<uint32_t>(c.in_group);
  }
  // Of what is kept for each channel and part.
  DTYPECHECK_DEVICE int64_t index(int64_t of_channel) const {
    return (sample * c.channels + of_channel) * c.parts + part;
  }
  // Of the group's first number, around which sums are.
  DTYPECHECK_DEVICE static int64_t first_number(const Cut& c, int64_t group_index) {
    const int64_t first = group_index % c.groups * c.in_group, in = group_index / c.groups;
    return kLast ? in * c.spatial * c.channels + first : (in * c.channels + first) * c.spatial;
  }

  Cut c;
  int64_t part, sample, channel;
  int thread;
  bool inside;
};

template <class T>
DTYPECHECK_DEVICE float finite_or_0(T x) {
  const float value = to_float(x);
  return isfinite(value) ? value : 0.f;
}

// Of some numbers: their sum, with what its rounding lost, and the squares around their own mean
// (Chan et al. 1983), which a first number far from the others does no harm.
struct Moments {
  float count, sum, squares, lost;
  DTYPECHECK_DEVICE void add(const Moments& b) {
    if (b.count == 0) return;
    if (count == 0) {
      *this = b;
      return;
    }
    const float all = count + b.count, apart = sum / count - b.sum / b.count;
    squares = (squares + b.squares) + apart * apart * (count * b.count / all);
    const float both = sum + b.sum, of_b = both - sum;  // Knuth's two-sum
    lost = (lost + b.lost) + ((sum - (both - of_b)) + (b.sum - of_b));
    sum = both;
    count = all;
  }
  DTYPECHECK_DEVICE float exact_sum() const { return isfinite(sum) ? sum + lost : sum; }
};

DTYPECHECK_DEVICE Moments warp_moments(const Thread& t, Moments m) {
  DTYPECHECK_UNROLL
  for (int mask = kWarp / 2; mask > 0; mask /= 2) {
    const Moments other{t.shuffle_xor(m.count, mask), t.shuffle_xor(m.sum, mask),
                        t.shuffle_xor(m.squares, mask), t.shuffle_xor(m.lost, mask)};
    m.add(other);
  }
  return m;
}

// Leaves the moments, around the group's first number, of each channel and part.
template <class T, bool kLast, int kWidth>
struct ChannelMoments {
  using Of = Places<kLast, kWidth>;
  static constexpr int kThreads = kPlaceThreads, kSlots = Of::kSlots;
  struct Shared {
    Moments of[kPlaceWarps][kLast ? kWarp * kWidth : 1];
  };

  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    for (int64_t i = t.block(); i < blocks; i += t.blocks()) {
      const Of places(t, cut, i);
      float near[kSlots] = {}, sum[kWidth] = {}, squares[kWidth] = {}, count = 0, part_of_one = 0;
      if (places.inside) {
        DTYPECHECK_UNROLL
        for (int s = 0; s < kSlots; ++s)
          near[s] = finite_or_0(x[Of::first_number(cut, places.group(s))]);
      }
      places.each([&](int64_t at) {
        const Pack<T, kWidth> pack = load_pack<kWidth>(x + at);
        count += 1;
        const float next = 1 / count;
        DTYPECHECK_UNROLL
        for (int k = 0; k < kWidth; ++k) {
          const float off = to_float(pack.at[k]) - near[Of::slot(k)],
                      before = fmaf(-sum[k], part_of_one, off);
          sum[k] += off;
          squares[k] = fmaf(before, fmaf(-sum[k], next, off), squares[k]);
        }
        part_of_one = next;
      });
      leave(t, shared, places, count, sum, squares);
    }
  }

  DTYPECHECK_DEVICE void leave(const Thread& t, Shared& shared, const Of& places, float count,
                               const float (&sum)[kWidth], const float (&squares)[kWidth]) const {
    const int warp = t.index() / kWarp, lane = t.index() % kWarp;
    if constexpr (kLast) {
      DTYPECHECK_UNROLL
      for (int k = 0; k < kWidth; ++k)
        shared.of[warp][lane * kWidth + k] = {count, sum[k], squares[k], 0};
    } else {
      Moments m{count, sum[0], squares[0], 0};
      DTYPECHECK_UNROLL
      for (int k = 1; k < kWidth; ++k) m.add({count, sum[k], squares[k], 0});
      m = warp_moments(t, m);
      if (lane == 0) shared.of[warp][0] = m;
    }
    t.sync();
    constexpr int kChannels = kLast ? kWarp * kWidth : 1;
    const int64_t first = kLast ? places.channel - lane * kWidth : places.channel;
    for (int c = t.index(); c < kChannels && first + c < cut.channels; c += kThreads) {
      Moments m = shared.of[0][c];
      for (int w = 1; w < kPlaceWarps; ++w) m.add(shared.of[w][c]);
      partial[places.index(first + c)] = m;
    }
    t.sync();
  }

  Cut cut;
  int64_t blocks;
  const T* x;
  Moments* partial;
};

// A warp has a group.
template <class T, bool kLast>
struct GroupMoments {
  static constexpr int kThreads = 128, kGroups = kThreads / kWarp;
  using Shared = NoShared;
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    const int64_t of_group = cut.in_group * cut.parts;
    for (int64_t g = t.block() * kGroups + t.index() / kWarp; g < cut.samples * cut.groups;
         g += t.blocks() * kGroups) {
      Moments m{};
      for (int64_t i = t.index() % kWarp; i < of_group; i += kWarp)
        m.add(partial[g * of_group + i]);
      m = warp_moments(t, m);
      if (t.index() % kWarp != 0) continue;
      const float n = static_cast<float>(cut.in_group * cut.spatial);
      const float near = finite_or_0(x[Places<kLast, 1>::first_number(cut, g)]);
      mean[g] = near + m.exact_sum() / n;
      rstd[g] = isfinite(mean[g]) ? 1 / sqrtf(m.squares / n + eps) : mean[g] - mean[g];
    }
  }
  Cut cut;
  const T* x;
  const Moments* partial;
  float eps;
  float *mean, *rstd;
};

DTYPECHECK_DEVICE float sigmoid(float x) { return 1 / (1 + expf(-x)); }

// What a thread keeps of its channels.
template <class Of>
struct ChannelNumbers {
  DTYPECHECK_DEVICE ChannelNumbers(const Of& places, const float* means, const float* rstds,
                                   const Weights& gammas, const Weights& betas) {
    if (!places.inside) return;
    DTYPECHECK_UNROLL
    for (int s = 0; s < Of::kSlots; ++s) {
      mean[s] = means[places.group(s)];
      rstd[s] = rstds[places.group(s)];
      gamma[s] = gammas[places.channel + s];
      beta[s] = betas[places.channel + s];
    }
  }
  DTYPECHECK_DEVICE float z(int s, float x) const { return (x - mean[s]) * rstd[s]; }
  DTYPECHECK_DEVICE float y(int s, float of_z) const { return fmaf(of_z, gamma[s], beta[s]); }
  float mean[Of::kSlots], rstd[Of::kSlots], gamma[Of::kSlots], beta[Of::kSlots];
};

template <class T, bool kLast, int kWidth>
struct NormalizeGroups {
  using Of = Places<kLast, kWidth>;
  static constexpr int kThreads = kPlaceThreads;
  using Shared = NoShared;
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    for (int64_t i = t.block(); i < blocks; i += t.blocks()) {
      const Of places(t, cut, i);
      const ChannelNumbers<Of> of(places, mean, rstd, gamma, beta);
      places.each([&](int64_t at) {
        const Pack<T, kWidth> pack = load_pack<kWidth>(x + at);
        Pack<T, kWidth> result;
        DTYPECHECK_UNROLL
        for (int k = 0; k < kWidth; ++k) {
          const int s = Of::slot(k);
          const float value = of.y(s, of.z(s, to_float(pack.at[k])));
          assign(result.at[k], silu ? value * sigmoid(value) : value);
        }
        store_pack<kWidth>(y + at, result);
      });
    }
  }
  Cut cut;
  int64_t blocks;
  const T* x;
  Weights gamma, beta;
  const float *mean, *rstd;
  bool silu;
  T* y;
};

// use(std::bool_constant<channels last>, std::integral_constant<numbers that are read at once>)
template <class T, class Use>
void with_places(Layout layout, int64_t together, bool aligned, Use use) {
  using One = std::integral_constant<int, 1>;
  using Wide = std::integral_constant<int, kWide<T>>;
  const bool is_wide = aligned && together % kWide<T> == 0;
  if (layout == Layout::kChannelsLast) {
    is_wide ? use(std::true_type(), Wide()) : use(std::true_type(), One());
  } else {
    is_wide ? use(std::false_type(), Wide()) : use(std::false_type(), One());
  }
}

inline int64_t grid_of(int64_t blocks) { return std::min<int64_t>(blocks, INT32_MAX); }

static void group_norm_cuda(const GroupNorm& a) {
  if (a.samples == 0) return;
  const Device& device = *a.device;
  const int64_t count = a.samples * a.groups;
  float* const mean = a.mean ? a.mean : room<float>(device, count);
  float* const rstd = a.rstd ? a.rstd : room<float>(device, count);
  with_type(a.x.dtype, [&](auto number) {
    using T = decltype(number);
    const T* const x = static_cast<const T*>(a.x.data);
    const bool aligned = is_aligned(x) && is_aligned(a.y.data);
    const int64_t together = a.layout == Layout::kChannelsLast ? a.channels : a.spatial;
    with_places<T>(a.layout, together, aligned, [&](auto last, auto width) {
      constexpr bool kLast = decltype(last)::value;
      constexpr int kWidth = decltype(width)::value;
      const Cut cut = Places<kLast, kWidth>::cut(a.samples, a.channels, a.spatial, a.groups);
      Moments* const partial = room<Moments>(device, a.samples * a.channels * cut.parts);
      const int64_t blocks = cut.blocks();
      launch(device, grid_of(blocks), ChannelMoments<T, kLast, kWidth>{cut, blocks, x, partial});
      using OfGroups = GroupMoments<T, kLast>;
      launch(device, grid_of(parts_of(count, OfGroups::kGroups)),
             OfGroups{cut, x, partial, static_cast<float>(a.eps), mean, rstd});
      launch(
          device, grid_of(blocks),
          NormalizeGroups<T, kLast, kWidth>{cut, blocks, x, Weights(a.gamma, 1), Weights(a.beta, 0),
                                            mean, rstd, a.silu, static_cast<T*>(a.y.data)});
    });
  });
}

// ---- backward

struct Sums {
  float beta, gamma;  // of dy, and of dy * z; by the norm's result, where SiLU follows
};

template <class Of>
DTYPECHECK_DEVICE float dy_of_norm(const ChannelNumbers<Of>& of, int s, float dy, float z,
                                   bool silu) {
  if (!silu) return dy;
  const float y = of.y(s, z), part = sigmoid(y);
  return dy * part * fmaf(y, 1 - part, 1.f);
}

// Leaves the sums of each channel and part.
template <class T, bool kLast, int kWidth>
struct ChannelSums {
  using Of = Places<kLast, kWidth>;
  static constexpr int kThreads = kPlaceThreads, kChannels = kLast ? kWarp * kWidth : 1;
  struct Shared {
    Sums of[kPlaceWarps][kChannels];
  };

  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared& shared) const {
    const int warp = t.index() / kWarp, lane = t.index() % kWarp;
    for (int64_t i = t.block(); i < blocks; i += t.blocks()) {
      const Of places(t, cut, i);
      const ChannelNumbers<Of> of(places, mean, rstd, gamma, beta);
      Sums sums[kWidth] = {};
      places.each([&](int64_t at) {
        const Pack<T, kWidth> xs = load_pack<kWidth>(x + at), dys = load_pack<kWidth>(dy + at);
        DTYPECHECK_UNROLL
        for (int k = 0; k < kWidth; ++k) {
          const int s = Of::slot(k);
          const float z = of.z(s, to_float(xs.at[k])),
                      here = dy_of_norm(of, s, to_float(dys.at[k]), z, silu);
          sums[k].beta += here;
          sums[k].gamma = fmaf(here, z, sums[k].gamma);
        }
      });
      if constexpr (kLast) {
        DTYPECHECK_UNROLL
        for (int k = 0; k < kWidth; ++k) shared.of[warp][lane * kWidth + k] = sums[k];
      } else {
        DTYPECHECK_UNROLL
        for (int k = 1; k < kWidth; ++k) {
          sums[0].beta += sums[k].beta;
          sums[0].gamma += sums[k].gamma;
        }
        const Sums of_warp{warp_sum(t, sums[0].beta), warp_sum(t, sums[0].gamma)};
        if (lane == 0) shared.of[warp][0] = of_warp;
      }
      t.sync();
      const int64_t first = kLast ? places.channel - lane * kWidth : places.channel;
      for (int c = t.index(); c < kChannels && first + c < cut.channels; c += kThreads) {
        Sums sum = shared.of[0][c];
        for (int w = 1; w < kPlaceWarps; ++w) {
          sum.beta += shared.of[w][c].beta;
          sum.gamma += shared.of[w][c].gamma;
        }
        partial[places.index(first + c)] = sum;
      }
      t.sync();
    }
  }

  Cut cut;
  int64_t blocks;
  const T *dy, *x;
  Weights gamma, beta;
  const float *mean, *rstd;
  bool silu;
  Sums* partial;
};

// Of each group the means of h and of h * z; a warp has a group.
struct GroupSums {
  static constexpr int kThreads = 128, kGroups = kThreads / kWarp;
  using Shared = NoShared;
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    const int64_t of_group = cut.in_group * cut.parts;
    for (int64_t g = t.block() * kGroups + t.index() / kWarp; g < cut.samples * cut.groups;
         g += t.blocks() * kGroups) {
      Sums sum{};
      for (int64_t i = t.index() % kWarp; i < of_group; i += kWarp) {
        const Sums here = partial[g * of_group + i];
        const float weight = gamma[g % cut.groups * cut.in_group + i / cut.parts];
        sum.beta = fmaf(here.beta, weight, sum.beta);
        sum.gamma = fmaf(here.gamma, weight, sum.gamma);
      }
      const float n = static_cast<float>(cut.in_group * cut.spatial);
      const Sums all{warp_sum(t, sum.beta) / n, warp_sum(t, sum.gamma) / n};
      if (t.index() % kWarp == 0) means[g] = all;
    }
  }
  Cut cut;
  Weights gamma;
  const Sums* partial;
  Sums* means;
};

// dgamma and dbeta: over samples and parts, in double; a warp has a channel.
struct WeightSums {
  static constexpr int kThreads = 128, kChannels = kThreads / kWarp;
  using Shared = NoShared;
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    const int64_t all = cut.samples * cut.parts;
    for (int64_t c = t.block() * kChannels + t.index() / kWarp; c < cut.channels;
         c += t.blocks() * kChannels) {
      double of_gamma = 0, of_beta = 0;
      for (int64_t i = t.index() % kWarp; i < all; i += kWarp) {
        const Sums here = partial[(i / cut.parts * cut.channels + c) * cut.parts + i % cut.parts];
        of_gamma += static_cast<double>(here.gamma);
        of_beta += static_cast<double>(here.beta);
      }
      of_gamma = warp_sum(t, of_gamma);
      of_beta = warp_sum(t, of_beta);
      if (t.index() % kWarp != 0) continue;
      if (dgamma.data) store_number(dgamma, c, static_cast<float>(of_gamma));
      if (dbeta.data) store_number(dbeta, c, static_cast<float>(of_beta));
    }
  }
  Cut cut;
  const Sums* partial;
  Output dgamma, dbeta;
};

template <class T, bool kLast, int kWidth>
struct NormalizeGroupsBackward {
  using Of = Places<kLast, kWidth>;
  static constexpr int kThreads = kPlaceThreads;
  using Shared = NoShared;
  DTYPECHECK_DEVICE void operator()(const Thread& t, Shared&) const {
    for (int64_t i = t.block(); i < blocks; i += t.blocks()) {
      const Of places(t, cut, i);
      const ChannelNumbers<Of> of(places, mean, rstd, gamma, beta);
      Sums of_group[Of::kSlots] = {};
      if (places.inside) {
        DTYPECHECK_UNROLL
        for (int s = 0; s < Of::kSlots; ++s) of_group[s] = means[places.group(s)];
      }
      places.each([&](int64_t at) {
        const Pack<T, kWidth> xs = load_pack<kWidth>(x + at), dys = load_pack<kWidth>(dy + at);
        Pack<T, kWidth> result;
        DTYPECHECK_UNROLL
        for (int k = 0; k < kWidth; ++k) {
          const int s = Of::slot(k);
          const float z = of.z(s, to_float(xs.at[k])),
                      here = dy_of_norm(of, s, to_float(dys.at[k]), z, silu);
          const float h = fmaf(here, of.gamma[s], -of_group[s].beta);
          assign(result.at[k], of.rstd[s] * fmaf(-z, of_group[s].gamma, h));
        }
        store_pack<kWidth>(dx + at, result);
      });
    }
  }
  Cut cut;
  int64_t blocks;
  const T *dy, *x;
  Weights gamma, beta;
  const float *mean, *rstd;
  bool silu;
  const Sums* means;
  T* dx;
};

static void group_norm_backward_cuda(const GroupNormBackward& a) {
  const Device& device = *a.device;
  with_type(a.x.dtype, [&](auto number) {
    using T = decltype(number);
    const T *const dy = static_cast<const T*>(a.dy.data), *const x =
                                                              static_cast<const T*>(a.x.data);
    const bool aligned = is_aligned(x) && is_aligned(dy) && is_aligned(a.dx.data);
    const int64_t together = a.layout == Layout::kChannelsLast ? a.channels : a.spatial;
    with_places<T>(a.layout, together, aligned, [&](auto last, auto width) {
      constexpr bool kLast = decltype(last)::value;
      constexpr int kWidth = decltype(width)::value;
      const Cut cut = Places<kLast, kWidth>::cut(a.samples, a.channels, a.spatial, a.groups);
      const Weights gamma(a.gamma, 1), beta(a.beta, 0);
      Sums* const partial = room<Sums>(device, a.samples * a.channels * cut.parts);
      Sums* const means = room<Sums>(device, a.samples * a.groups);
      const int64_t blocks = cut.blocks();
      launch(device, grid_of(blocks),
             ChannelSums<T, kLast, kWidth>{cut, blocks, dy, x, gamma, beta, a.mean, a.rstd, a.silu,
                                           partial});
      launch(device, grid_of(parts_of(a.samples * a.groups, GroupSums::kGroups)),
             GroupSums{cut, gamma, partial, means});
      if (a.dgamma.data || a.dbeta.data)
        launch(device, parts_of(a.channels, WeightSums::kChannels),
               WeightSums{cut, partial, a.dgamma, a.dbeta});
      launch(
          device, grid_of(blocks),
          NormalizeGroupsBackward<T, kLast, kWidth>{cut, blocks, dy, x, gamma, beta, a.mean, a.rstd,
                                                    a.silu, means, static_cast<T*>(a.dx.data)});
    });
  });
}

}  // namespace cuda

[[maybe_unused]] static const bool are_loaded =
    (DeviceVariant<GroupNorm>::run = cuda::group_norm_cuda,
     DeviceVariant<GroupNormBackward>::run = cuda::group_norm_backward_cuda, true);

}  // namespace dtypecheck::kernels
