// Channels first, a group lies together, and is a part. Channels last, a vector holds numbers of
// several groups: sums are kept for each channel, a part is a stretch of places, and what a group's
// numbers are multiplied with stands in a table of the channels.
#include "kernels/group_norm/group_norm.h"
#include "kernels/room.h"
#include "kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/group_norm/group_norm_vectors.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::DTYPECHECK_ISA {
#if DTYPECHECK_VECTORS

inline float rstd_of(const Moments& m, double eps) {
  return static_cast<float>(1 / std::sqrt(m.variance + eps));
}

template <bool kSilu, class T>
HWY_INLINE V activated(V y) {
  if constexpr (kSilu) return silu<T>(y);
  return y;
}
template <bool kSilu>
HWY_INLINE V before_activation(V dy, V y) {
  if constexpr (kSilu) return silu_gradient(dy, y);
  return dy;
}

// The group's number of the tensor's, as the parts of channels-first are.
template <class Body>
HWY_INLINE void for_each_group(int64_t groups, int64_t numbers, const Body& body) {
  const int64_t size = std::max<int64_t>(1, kPartNumbers / numbers);
  for_each_part((groups + size - 1) / size, [&](int64_t part) {
    for (int64_t g = part * size; g < std::min(groups, (part + 1) * size); ++g) body(g);
  });
}

// ---- channels first

// The next group is fetched where there is time for it: beside SiLU, or where sums are had so
// quickly that they would wait for it.
template <bool kSilu, class T>
constexpr bool kPrefetches = kSilu || kQuick<T>;

template <bool kSilu, class T>
HWY_NOINLINE void normalize_group(const GroupNorm& a, int64_t g, const float* gamma,
                                  const float* beta, const T* x, T* y) {
  const int64_t channels = a.channels / a.groups, first = g % a.groups * channels;
  x += g * channels * a.spatial;
  y += g * channels * a.spatial;
  const Moments m = moments(x, channels * a.spatial);
  const float rstd = rstd_of(m, a.eps);
  for (int64_t c = 0; c < channels; ++c, x += a.spatial, y += a.spatial) {
    const float by = rstd * gamma[first + c];
    const V factor = hn::Set(F(), by);
    const V bias = hn::Set(F(), static_cast<float>(beta[first + c] - m.mean * by));
    write_each(y, a.spatial, [=](int64_t i, size_t count) DTYPECHECK_INLINE {
      if constexpr (kPrefetches<kSilu, T>) hwy::Prefetch(x + channels * a.spatial + i);
      return activated<kSilu, T>(hn::MulAdd(load(x + i, count), factor, bias));
    });
  }
  if (a.mean) a.mean[g] = static_cast<float>(m.mean);
  if (a.rstd) a.rstd[g] = rstd;
}

// What dx is made of, beside dy and x: dx = dy * factor - (x - mean) * slope - shift.
struct GroupSlope {
  float slope, shift;
  GroupSlope(double sum_h, double sum_dot, double n, float rstd)
      : slope(static_cast<float>(sum_dot / n * rstd) * rstd),
        shift(static_cast<float>(sum_h / n) * rstd) {}
};

// The sums of the group's channels go to dgamma and dbeta, one number of each sample and channel.
template <bool kSilu, class T>
HWY_NOINLINE void group_backward(const GroupNormBackward& a, int64_t g, const float* gamma,
                                 const float* beta, double* dgamma, double* dbeta, const T* dy,
                                 const T* x, T* dx) {
  const int64_t channels = a.channels / a.groups, first = g % a.groups * channels;
  const int64_t start = g * channels * a.spatial;
  dy += start;
  x += start;
  dx += start;
  const float rstd = a.rstd[g];
  const V center = hn::Set(F(), a.mean[g]), scale = hn::Set(F(), rstd);
  // dy before the activation costs ten times what keeping it does, in a group that a cache holds.
  thread_local Room room;
  const int64_t step = static_cast<int64_t>(lanes()), kept_of_channel = (a.spatial + step) & -step;
  const bool keeps = kSilu && channels * kept_of_channel <= int64_t{1} << 18;
  float* const kept =
      keeps ? room.reserve(static_cast<size_t>(channels * kept_of_channel)) : nullptr;
  double sum_h = 0, sum_dot = 0;
  for (int64_t c = 0; c < channels; ++c) {
    float* const kept_here = kept + (keeps ? c * kept_of_channel : 0);
    const T *const here_dy = dy + c * a.spatial, *const here_x = x + c * a.spatial;
    const V factor = hn::Set(F(), rstd * gamma[first + c]), bias = hn::Set(F(), beta[first + c]);
    TwoSums sums;
    if (kSilu || !quick_gradient_sums(here_dy, here_x, a.spatial, a.mean[g], rstd, sums)) {
      sums = two_sums(a.spatial, [=](int64_t i, size_t count, V& sum, V& dot) HWY_ATTR {
        const V off = hn::Sub(load(here_x + i, count), center), y = hn::MulAdd(off, factor, bias);
        const V d = before_activation<kSilu>(load(here_dy + i, count), y);
        if (keeps) store_all(d, kept_here + i);
        sum = hn::Add(sum, d);
        dot = hn::MulAdd(d, hn::Mul(off, scale), dot);
      });
    }
    sum_h += gamma[first + c] * sums.first;
    sum_dot += gamma[first + c] * sums.second;
    dbeta[g * channels + c] = sums.first;
    dgamma[g * channels + c] = sums.second;
  }
  const GroupSlope of(sum_h, sum_dot, static_cast<double>(channels * a.spatial), rstd);
  const V slope = hn::Set(F(), of.slope);
  const V shift = hn::Set(F(), of.shift - a.mean[g] * of.slope);
  for (int64_t c = 0; c < channels; ++c, dy += a.spatial, x += a.spatial, dx += a.spatial) {
    const V factor = hn::Set(F(), rstd * gamma[first + c]), bias = hn::Set(F(), beta[first + c]);
    const float* const kept_here = kept + (keeps ? c * kept_of_channel : 0);
    const auto made = [=](V number, V d) DTYPECHECK_INLINE {
      return hn::MulSub(d, factor, hn::MulAdd(number, slope, shift));
    };
    if (keeps) {
      write_each(dx, a.spatial, [=](int64_t i, size_t count) DTYPECHECK_INLINE {
        return made(load(x + i, count), load_all(kept_here + i));
      });
    } else {
      write_each(dx, a.spatial, [=](int64_t i, size_t count) DTYPECHECK_INLINE {
        const V number = load(x + i, count);
        const V y = hn::MulAdd(hn::Sub(number, center), factor, bias);
        return made(number, before_activation<kSilu>(load(dy + i, count), y));
      });
    }
  }
}

// ---- channels last

// A stretch of a sample's places: at most 16 of them, which are added in order.
struct Stretches {
  Stretches(int64_t samples, int64_t spatial, int64_t channels)
      : size(std::max({int64_t{1}, kPartNumbers / channels, (spatial + 15) / 16})),
        of_sample((spatial + size - 1) / size),
        count(samples * of_sample),
        spatial_(spatial) {}
  int64_t sample(int64_t i) const { return i / of_sample; }
  int64_t begin(int64_t i) const { return i % of_sample * size; }
  int64_t places(int64_t i) const { return std::min(size, spatial_ - begin(i)); }
  int64_t size, of_sample, count;

 private:
  int64_t spatial_;
};

// So many places at once, for which sums are read and written once; so many to a sum in Float.
constexpr int kPlacesAtOnce = 4;
constexpr int64_t kFloatPlaces = 64;

// body(first place, how many as an integral_constant) for all places, four at once and then one.
template <class Body>
HWY_INLINE void for_each_places(int64_t begin, int64_t end, const Body& body) {
  for (; begin + kPlacesAtOnce <= end; begin += kPlacesAtOnce)
    body(begin, std::integral_constant<int, kPlacesAtOnce>());
  for (; begin < end; ++begin) body(begin, std::integral_constant<int, 1>());
}

// For each channel: the mean of the stretch and the sum of squares around it. Squares are taken
// around the mean of its first places, which is near.
template <class T>
HWY_NOINLINE void moments_of_channels(const T* x, int64_t places, int64_t channels,
                                      double* HWY_RESTRICT means, double* HWY_RESTRICT squares) {
  const size_t room = static_cast<size_t>(channels) + lanes();
  std::vector<float> buffer(3 * room);
  float *const centers = buffer.data(), *const sum = centers + room, *const square = sum + room;
  const int64_t near = std::min<int64_t>(places, kPlacesAtOnce);
  const V part = hn::Set(F(), 1.f / static_cast<float>(near));
  for_each_vector(channels, [=](int64_t c, size_t count) DTYPECHECK_INLINE {
    V center = hn::Zero(F());
    for (int64_t p = 0; p < near; ++p)
      center = hn::MulAdd(load(x + p * channels + c, count), part, center);
    store_all(center, centers + c);
  });
  std::fill_n(means, channels, 0.);
  std::fill_n(squares, channels, 0.);
  for (int64_t start = 0; start < places; start += kFloatPlaces) {
    const int64_t end = std::min(places, start + kFloatPlaces);
    for_each_places(start, end, [=](int64_t p, auto count_of_places) DTYPECHECK_INLINE {
      const T* const from = x + p * channels;
      for_each_vector(channels, [=](int64_t c, size_t count) DTYPECHECK_INLINE {
        const V center = load_all(centers + c);
        V sums = load_all(sum + c), square_sums = load_all(square + c);
#pragma GCC unroll 4
        for (int i = 0; i < decltype(count_of_places)::value; ++i) {
          const V off = hn::Sub(load(from + i * channels + c, count), center);
          sums = hn::Add(sums, off);
          square_sums = hn::MulAdd(off, off, square_sums);
        }
        store_all(sums, sum + c);
        store_all(square_sums, square + c);
      });
    });
    flush(channels, sum, means);
    flush(channels, square, squares);
  }
  const double share = 1 / static_cast<double>(places);
  for (int64_t c = 0; c < channels; ++c) {
    const double off = means[c] * share;
    squares[c] -= off * means[c];
    means[c] = centers[c] + off;
  }
}

// A sample's, of those of its stretches, which are left in the first one's place.
HWY_NOINLINE void join_stretches(const Stretches& stretches, int64_t first, int64_t spatial,
                                 int64_t channels, double* HWY_RESTRICT means,
                                 double* HWY_RESTRICT squares) {
  std::vector<double> joined(static_cast<size_t>(channels));
  double* HWY_RESTRICT const mean = joined.data();
  for (int64_t s = 0; s < stretches.of_sample; ++s) {
    const double share =
        static_cast<double>(stretches.places(first + s)) / static_cast<double>(spatial);
    for (int64_t c = 0; c < channels; ++c) mean[c] += share * means[s * channels + c];
  }
  for (int64_t s = 0; s < stretches.of_sample; ++s) {
    const double places = static_cast<double>(stretches.places(first + s));
    for (int64_t c = 0; c < channels; ++c) {
      const double apart = means[s * channels + c] - mean[c];
      const double here = squares[s * channels + c] + places * apart * apart;
      squares[c] = s == 0 ? here : squares[c] + here;
    }
  }
  std::copy_n(mean, channels, means);
}

// A group's, of those of its channels.
inline Moments moments_of_group(const GroupNorm& a, int64_t sample, int64_t first, int64_t last,
                                const double* means, const double* squares) {
  const double n = static_cast<double>((last - first) * a.spatial);
  const double channels = static_cast<double>(last - first);
  double mean = 0, square = 0;
  for (int64_t c = first; c < last; ++c) mean += means[c] / channels;
  for (int64_t c = first; c < last; ++c) {
    const double apart = means[c] - mean;
    square += squares[c] + static_cast<double>(a.spatial) * apart * apart;
  }
  if (std::isfinite(square)) return {mean, std::max(0., square / n)};
  double sum = 0;
  for (int64_t p = 0; p < a.spatial; ++p) {
    for (int64_t c = first; c < last; ++c)
      sum += kernels::load(a.x, (sample * a.spatial + p) * a.channels + c);
  }
  return moments_of_infinite(sum / n);
}

// What stands for each channel beside the others: y = (x - mean) * factor + bias, which is x *
// factor
// + offset, and for backward the GroupSlope.
struct ChannelTable {
  explicit ChannelTable(int64_t channels)
      : room_(static_cast<size_t>(channels) + lanes()), numbers_(6 * room_) {}
  float* mean() { return numbers_.data(); }
  float* factor() { return mean() + room_; }
  float* bias() { return mean() + 2 * room_; }
  float* slope() { return mean() + 3 * room_; }
  float* shift() { return mean() + 4 * room_; }
  float* offset() { return mean() + 5 * room_; }

 private:
  size_t room_;
  std::vector<float> numbers_;
};

inline void fill_table(ChannelTable& t, int64_t first, int64_t last, float mean, float rstd,
                       const float* gamma, const float* beta) {
  for (int64_t c = first; c < last; ++c) {
    t.mean()[c] = mean;
    t.factor()[c] = rstd * gamma[c];
    t.bias()[c] = beta[c];
  }
}

// Rounded to 16 bits, x * factor + offset is as exact, as it is channels first, and reads one
// number less of the table.
template <bool kSilu, class T>
HWY_NOINLINE void normalize_places(ChannelTable& t, int64_t places, int64_t channels, const T* x,
                                   T* y) {
  const float *const mean = t.mean(), *const factor = t.factor(), *const bias = t.bias(),
                     *const offset = t.offset();
  for (int64_t p = 0; p < places; ++p, x += channels, y += channels) {
    write_each(y, channels, [=](int64_t c, size_t count) DTYPECHECK_INLINE {
      const V number = load(x + c, count), by = load_all(factor + c);
      if constexpr (sizeof(T) == 2)
        return activated<kSilu, T>(hn::MulAdd(number, by, load_all(offset + c)));
      const V off = hn::Sub(number, load_all(mean + c));
      return activated<kSilu, T>(hn::MulAdd(off, by, load_all(bias + c)));
    });
  }
}

template <bool kSilu, class T>
void normalize_channels_last(const GroupNorm& a, const float* gamma, const float* beta, const T* x,
                             T* y) {
  const Stretches stretches(a.samples, a.spatial, a.channels);
  const auto start = [&](int64_t s) {
    return (stretches.sample(s) * a.spatial + stretches.begin(s)) * a.channels;
  };
  std::vector<double> means(static_cast<size_t>(stretches.count * a.channels)), squares(means);
  for_each_part(stretches.count, [&](int64_t s) {
    moments_of_channels(x + start(s), stretches.places(s), a.channels, &means[0] + s * a.channels,
                        &squares[0] + s * a.channels);
  });
  for (int64_t sample = 0; sample < a.samples; ++sample) {
    const int64_t first = sample * stretches.of_sample;
    join_stretches(stretches, first, a.spatial, a.channels, &means[0] + first * a.channels,
                   &squares[0] + first * a.channels);
  }
  std::vector<ChannelTable> tables(static_cast<size_t>(a.samples), ChannelTable(a.channels));
  const int64_t channels = a.channels / a.groups;
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const int64_t sample = g / a.groups, first = g % a.groups * channels;
    const int64_t at = sample * stretches.of_sample * a.channels;
    const Moments m =
        moments_of_group(a, sample, first, first + channels, &means[0] + at, &squares[0] + at);
    const float mean = static_cast<float>(m.mean), rstd = rstd_of(m, a.eps);
    ChannelTable& table = tables[static_cast<size_t>(sample)];
    fill_table(table, first, first + channels, mean, rstd, gamma, beta);
    for (int64_t c = first; c < first + channels; ++c)
      table.offset()[c] = static_cast<float>(beta[c] - m.mean * table.factor()[c]);
    if (a.mean) a.mean[g] = mean;
    if (a.rstd) a.rstd[g] = rstd;
  }
  for_each_part(stretches.count, [&](int64_t s) {
    normalize_places<kSilu>(tables[static_cast<size_t>(stretches.sample(s))], stretches.places(s),
                            a.channels, x + start(s), y + start(s));
  });
}

// For each channel, the sums over a stretch of dy and of dy * (x - mean).
template <bool kSilu, class T>
HWY_NOINLINE void sums_of_channels(ChannelTable& t, int64_t places, int64_t channels, const T* dy,
                                   const T* x, double* HWY_RESTRICT sums,
                                   double* HWY_RESTRICT dots) {
  const size_t room = static_cast<size_t>(channels) + lanes();
  std::vector<float> buffer(2 * room);
  float *const sum = buffer.data(), *const dot = sum + room;
  const float *const mean = t.mean(), *const factor = t.factor(), *const bias = t.bias();
  for (int64_t start = 0; start < places; start += kFloatPlaces) {
    const int64_t end = std::min(places, start + kFloatPlaces);
    for_each_places(start, end, [=](int64_t p, auto count_of_places) DTYPECHECK_INLINE {
      const T *const from_dy = dy + p * channels, *const from_x = x + p * channels;
      for_each_vector(channels, [=](int64_t c, size_t count) DTYPECHECK_INLINE {
        const V center = load_all(mean + c);
        V sum_here = load_all(sum + c), dot_here = load_all(dot + c);
#pragma GCC unroll 4
        for (int i = 0; i < decltype(count_of_places)::value; ++i) {
          const V off = hn::Sub(load(from_x + i * channels + c, count), center);
          V here = load(from_dy + i * channels + c, count);
          if constexpr (kSilu) {
            const V y = hn::MulAdd(off, load_all(factor + c), load_all(bias + c));
            here = silu_gradient(here, y);
          }
          sum_here = hn::Add(sum_here, here);
          dot_here = hn::MulAdd(here, off, dot_here);
        }
        store_all(sum_here, sum + c);
        store_all(dot_here, dot + c);
      });
    });
    flush(channels, sum, sums);
    flush(channels, dot, dots);
  }
}

template <bool kSilu, class T>
HWY_NOINLINE void places_backward(ChannelTable& t, int64_t places, int64_t channels, const T* dy,
                                  const T* x, T* dx) {
  const float *const mean = t.mean(), *const factor = t.factor(), *const bias = t.bias(),
                     *const slope = t.slope(), *const shift = t.shift();
  for (int64_t p = 0; p < places; ++p, dy += channels, x += channels, dx += channels) {
    write_each(dx, channels, [=](int64_t c, size_t count) DTYPECHECK_INLINE {
      const V off = hn::Sub(load(x + c, count), load_all(mean + c)), by = load_all(factor + c);
      V here = load(dy + c, count);
      if constexpr (kSilu) here = silu_gradient(here, hn::MulAdd(off, by, load_all(bias + c)));
      const V less = hn::MulAdd(off, load_all(slope + c), load_all(shift + c));
      return hn::MulSub(here, by, less);
    });
  }
}

template <bool kSilu, class T>
void channels_last_backward(const GroupNormBackward& a, const float* gamma, const float* beta,
                            double* dgamma, double* dbeta, const T* dy, const T* x, T* dx) {
  const Stretches stretches(a.samples, a.spatial, a.channels);
  const auto start = [&](int64_t s) {
    return (stretches.sample(s) * a.spatial + stretches.begin(s)) * a.channels;
  };
  const int64_t channels = a.channels / a.groups;
  const double n = static_cast<double>(channels * a.spatial);
  std::vector<ChannelTable> tables(static_cast<size_t>(a.samples), ChannelTable(a.channels));
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const int64_t first = g % a.groups * channels;
    fill_table(tables[static_cast<size_t>(g / a.groups)], first, first + channels, a.mean[g],
               a.rstd[g], gamma, beta);
  }
  std::vector<double> sums(static_cast<size_t>(stretches.count * a.channels)), dots(sums);
  for_each_part(stretches.count, [&](int64_t s) {
    sums_of_channels<kSilu>(tables[static_cast<size_t>(stretches.sample(s))], stretches.places(s),
                            a.channels, dy + start(s), x + start(s), &sums[0] + s * a.channels,
                            &dots[0] + s * a.channels);
  });
  for (int64_t s = 0; s < stretches.count; ++s) {
    const int64_t to = stretches.sample(s) * a.channels;
    for (int64_t c = 0; c < a.channels; ++c) {
      dbeta[to + c] += sums[static_cast<size_t>(s * a.channels + c)];
      dgamma[to + c] += dots[static_cast<size_t>(s * a.channels + c)];
    }
  }
  for (int64_t g = 0; g < a.samples * a.groups; ++g) {
    const int64_t first = g % a.groups * channels, to = g / a.groups * a.channels;
    double sum_h = 0, sum_dot = 0;
    for (int64_t c = first; c < first + channels; ++c) {
      dgamma[to + c] *= a.rstd[g];
      sum_h += gamma[c] * dbeta[to + c];
      sum_dot += gamma[c] * dgamma[to + c];
    }
    const GroupSlope of(sum_h, sum_dot, n, a.rstd[g]);
    ChannelTable& table = tables[static_cast<size_t>(g / a.groups)];
    std::fill_n(table.slope() + first, channels, of.slope);
    std::fill_n(table.shift() + first, channels, of.shift);
  }
  for_each_part(stretches.count, [&](int64_t s) {
    places_backward<kSilu>(tables[static_cast<size_t>(stretches.sample(s))], stretches.places(s),
                           a.channels, dy + start(s), x + start(s), dx + start(s));
  });
}

// ---- either

template <bool kSilu, class T>
void group_norm_as(const GroupNorm& a, const T* x, T* y) {
  const std::vector<float> gamma = floats(a.gamma, a.channels, 1),
                           beta = floats(a.beta, a.channels, 0);
  if (a.layout == Layout::kChannelsLast && a.spatial > 1)
    return normalize_channels_last<kSilu>(a, gamma.data(), beta.data(), x, y);
  for_each_group(a.samples * a.groups, a.channels / a.groups * a.spatial,
                 [&](int64_t g) { normalize_group<kSilu>(a, g, gamma.data(), beta.data(), x, y); });
}

template <bool kSilu, class T>
void group_norm_backward_as(const GroupNormBackward& a, const T* dy, const T* x, T* dx) {
  const std::vector<float> gamma = floats(a.gamma, a.channels, 1),
                           beta = floats(a.beta, a.channels, 0);
  std::vector<double> dgamma(static_cast<size_t>(a.samples * a.channels)), dbeta(dgamma);
  if (a.layout == Layout::kChannelsLast && a.spatial > 1) {
    channels_last_backward<kSilu>(a, gamma.data(), beta.data(), dgamma.data(), dbeta.data(), dy, x,
                                  dx);
  } else {
    for_each_group(a.samples * a.groups, a.channels / a.groups * a.spatial, [&](int64_t g) {
      group_backward<kSilu>(a, g, gamma.data(), beta.data(), dgamma.data(), dbeta.data(), dy, x,
                            dx);
    });
  }
  write_sums(a.dgamma, dgamma.data(), a.samples, a.channels);
  write_sums(a.dbeta, dbeta.data(), a.samples, a.channels);
}

void run_group_norm(const GroupNorm& a) {
  with_numbers(a.x, a.y, [&](const auto* x, auto* y) HWY_ATTR {
    a.silu ? group_norm_as<true>(a, x, y) : group_norm_as<false>(a, x, y);
  });
}

void run_group_norm_backward(const GroupNormBackward& a) {
  with_numbers(a.x, a.dx, [&](const auto* x, auto* dx) HWY_ATTR {
    const auto* dy = static_cast<decltype(x)>(a.dy.data);
    a.silu ? group_norm_backward_as<true>(a, dy, x, dx)
           : group_norm_backward_as<false>(a, dy, x, dx);
  });
}

#else
void run_group_norm(const GroupNorm& a) { group_norm_ref(a); }
void run_group_norm_backward(const GroupNormBackward& a) { group_norm_backward_ref(a); }
#endif
}  // namespace dtypecheck::kernels::DTYPECHECK_ISA
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

DTYPECHECK_VARIANT(GroupNorm, group_norm)
DTYPECHECK_VARIANT(GroupNormBackward, group_norm_backward)

}  // namespace dtypecheck::kernels
#endif
