// vectors-inl.h: what the vectorised variants share. Included once for each instruction set, after
// <hwy/foreach_target.h>. All arithmetic is in vectors of Float; Half and BFloat16 are converted as
// they are read and written. The numbers past the last whole vector go through a zero-filled one,
// so that a tail is computed as the rest is. bfloat16_target.h has one set more.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "kernels/element.h"

#if defined(DTYPECHECK_KERNELS_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DTYPECHECK_KERNELS_VECTORS_INL_H
#undef DTYPECHECK_KERNELS_VECTORS_INL_H
#else
#define DTYPECHECK_KERNELS_VECTORS_INL_H
#endif

#ifndef DTYPECHECK_ON_BFLOAT16
#define DTYPECHECK_ON_BFLOAT16 0
#endif
#undef DTYPECHECK_ISA
#if DTYPECHECK_ON_BFLOAT16
// Functions of its own name, as those of HWY_AVX3 stand beside them in one library.
#define DTYPECHECK_ISA N_BFLOAT16
#undef HWY_TARGET_STR
#define HWY_TARGET_STR HWY_TARGET_STR_AVX3 ",avx512bf16"
#else
#define DTYPECHECK_ISA HWY_NAMESPACE
#endif

// name_vectors(arguments), which runs run_name of the best set of instructions; name_bfloat16 in a
// file that includes bfloat16_target.h.
#undef DTYPECHECK_VARIANT
#if DTYPECHECK_ON_BFLOAT16
#define DTYPECHECK_VARIANT(Arguments, name) \
  void name##_bfloat16(const Arguments& a) { DTYPECHECK_ISA::run_##name(a); }
#else
#define DTYPECHECK_VARIANT(Arguments, name) \
  HWY_EXPORT(run_##name);                   \
  void name##_vectors(const Arguments& a) { HWY_DYNAMIC_DISPATCH(run_##name)(a); }
#endif

#undef DTYPECHECK_VECTORS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define DTYPECHECK_VECTORS 0  // the reference is as fast
#else
#define DTYPECHECK_VECTORS 1

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::DTYPECHECK_ISA {
namespace hn = hwy::HWY_NAMESPACE;

using F = hn::ScalableTag<float>;
using U = hn::RebindToUnsigned<F>;
using V = hn::Vec<F>;

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

// For a lambda with whole vectors and tails, which are distinguished where it is inlined.
#define DTYPECHECK_INLINE HWY_ATTR __attribute__((always_inline))

HWY_INLINE size_t lanes() { return hn::Lanes(F()); }

HWY_INLINE V load_all(const float* p) { return hn::LoadU(F(), p); }
HWY_INLINE V load_all(const Half* p) {
  const hn::Rebind<hwy::float16_t, F> half;
  return hn::PromoteTo(F(), hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(p)));
}
HWY_INLINE V load_all(const BFloat16* p) {
  const hn::Rebind<uint16_t, F> bits;
  const auto wide = hn::PromoteTo(U(), hn::LoadU(bits, reinterpret_cast<const uint16_t*>(p)));
  return hn::BitCast(F(), hn::ShiftLeft<16>(wide));
}

// The upper halves of the words.
HWY_INLINE void store_upper(hn::Vec<U> words, BFloat16* p) {
  const hn::Rebind<uint16_t, F> bits;
#if HWY_TARGET == HWY_AVX3  // one permutation
  const hn::Repartition<uint16_t, F> halves;
  const auto both = hn::BitCast(halves, words);
  const auto upper = hn::LowerHalf(bits, hn::ConcatOdd(halves, both, both));
  hn::StoreU(upper, bits, reinterpret_cast<uint16_t*>(p));
#else
  const hn::RebindToSigned<U> narrowed_from;
  const auto upper = hn::BitCast(narrowed_from, hn::ShiftRight<16>(words));
  hn::StoreU(hn::DemoteTo(bits, upper), bits, reinterpret_cast<uint16_t*>(p));
#endif
}

HWY_INLINE hn::Vec<U> keep_nan(V value, hn::Vec<U> rounded) {
  return hn::IfThenElse(hn::RebindMask(U(), hn::IsNaN(value)), hn::Set(U(), 0x7fc00000), rounded);
}

HWY_INLINE void store_all(V v, float* p) { hn::StoreU(v, F(), p); }
HWY_INLINE void store_all(V v, Half* p) {
  const hn::Rebind<hwy::float16_t, F> half;
  hn::StoreU(hn::DemoteTo(half, v), half, reinterpret_cast<hwy::float16_t*>(p));
}
HWY_INLINE void store_all(V v, BFloat16* p) {
  const auto bits = hn::BitCast(U(), v);
  const auto odd = hn::TestBit(bits, hn::Set(U(), 0x10000));
  const auto half = hn::IfThenElse(odd, hn::Set(U(), 0x8000), hn::Set(U(), 0x7fff));
  store_upper(keep_nan(v, hn::Add(bits, half)), p);
}

// The first `count` numbers at p, zeros behind them.
template <class T>
HWY_INLINE V load(const T* p, size_t count) {
  if (count == lanes()) return load_all(p);
  alignas(64) T part[HWY_MAX_BYTES / sizeof(float)] = {};
  std::memcpy(part, p, count * sizeof(T));
  return load_all(part);
}

template <class T>
HWY_INLINE void store(V v, T* p, size_t count) {
  if (count == lanes()) return store_all(v, p);
  alignas(64) T part[HWY_MAX_BYTES / sizeof(float)];
  store_all(v, part);
  std::memcpy(p, part, count * sizeof(T));
}

// act(i, count) for each vector of 0 … n - 1.
template <class Act>
HWY_INLINE void for_each_vector(int64_t n, Act act) {
  const int64_t step = static_cast<int64_t>(lanes());
  int64_t i = 0;
  for (; i + step <= n; i += step) act(i, lanes());
  if (i < n) act(i, static_cast<size_t>(n - i));
}

// Writes number(i, count) for each vector of 0 … n - 1.
template <class T, class Number>
HWY_INLINE void write_each(T* to, int64_t n, Number number) {
  int64_t done = 0;
#if DTYPECHECK_ON_BFLOAT16
  if constexpr (std::is_same_v<T, BFloat16>) {
    // The processor's own rounding takes what is below 2^-126 for 0. To ask costs as much as to
    // round, so four vectors are asked at once.
    constexpr int kDenormal = 0x20;
    for (; done + 64 <= n; done += 64) {
      V v[4];
      __mmask16 small = 0;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) {
        v[k] = number(done + k * 16, size_t{16});
        small |= _mm512_fpclass_ps_mask(v[k].raw, kDenormal);
      }
      if (HWY_UNLIKELY(small != 0)) {
        for (int k = 0; k < 4; ++k) store_all(v[k], to + done + k * 16);
        continue;
      }
#pragma GCC unroll 2
      for (int k = 0; k < 4; k += 2) {
        const auto both = (__m512i)_mm512_cvtne2ps_pbh(v[k + 1].raw, v[k].raw);
        _mm512_storeu_si512(to + done + k * 16, both);
      }
    }
  }
#endif
  for_each_vector(n - done, [&](int64_t i, size_t count)
                                HWY_ATTR { store(number(done + i, count), to + done + i, count); });
}

// Sums are kept in Float over so many numbers, and those sums in double: a whole group of a norm
// loses no digits.
constexpr int64_t kChunk = 4096;

HWY_INLINE double sum_of_lanes(V v) { return hn::GetLane(hn::SumOfLanes(F(), v)); }

// The sum of term(i, count), which is zero in lanes past count.
template <class Term>
HWY_INLINE double sum(int64_t n, Term term) {
  const int64_t step = static_cast<int64_t>(lanes());
  double total = 0;
  for (int64_t start = 0; start < n; start += kChunk) {
    const int64_t end = std::min(n, start + kChunk);
    V a = hn::Zero(F()), b = a, c = a, d = a;  // four, as an addition takes four cycles
    int64_t i = start;
    for (; i + 4 * step <= end; i += 4 * step) {
      a = hn::Add(a, term(i, lanes()));
      b = hn::Add(b, term(i + step, lanes()));
      c = hn::Add(c, term(i + 2 * step, lanes()));
      d = hn::Add(d, term(i + 3 * step, lanes()));
    }
    for (; i + step <= end; i += step) a = hn::Add(a, term(i, lanes()));
    if (i < end) b = hn::Add(b, term(i, static_cast<size_t>(end - i)));
    total += sum_of_lanes(hn::Add(hn::Add(a, b), hn::Add(c, d)));
  }
  return total;
}

struct TwoSums {
  double first = 0, second = 0;
};

// The sums of what add(i, count, first, second) adds to each.
template <class AddTerms>
HWY_INLINE TwoSums two_sums(int64_t n, AddTerms add) {
  const int64_t step = static_cast<int64_t>(lanes());
  TwoSums total;
  for (int64_t start = 0; start < n; start += kChunk) {
    const int64_t end = std::min(n, start + kChunk);
    V a[4], b[4];  // four of each, as an addition takes four cycles
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) a[k] = b[k] = hn::Zero(F());
    int64_t i = start;
    for (; i + 4 * step <= end; i += 4 * step) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) add(i + k * step, lanes(), a[k], b[k]);
    }
    for (; i < end; i += step) add(i, static_cast<size_t>(std::min(step, end - i)), a[0], b[0]);
    total.first += sum_of_lanes(hn::Add(hn::Add(a[0], a[1]), hn::Add(a[2], a[3])));
    total.second += sum_of_lanes(hn::Add(hn::Add(b[0], b[1]), hn::Add(b[2], b[3])));
  }
  return total;
}

struct Moments {
  double mean = 0, variance = 0;  // biased
};

// Sums of x and of its square around `center`.
template <class T>
HWY_INLINE TwoSums sums_around(float mean, const T* x, int64_t n) {
  const V center = hn::Set(F(), mean);
  return two_sums(n, [=](int64_t i, size_t count, V& sum, V& squares) HWY_ATTR {
    const V off = hn::Sub(load(x + i, count), center);
    const V inside = count == lanes() ? off : hn::IfThenElseZero(hn::FirstN(F(), count), off);
    sum = hn::Add(sum, inside);
    squares = hn::MulAdd(inside, inside, squares);
  });
}

// Of numbers with a NaN or an infinity among them, or with squares beyond Float.
inline Moments moments_of_infinite(double mean) {
  return {mean, std::isfinite(mean) ? INFINITY : NAN};
}

// Squares around 0 lose as many digits as the mean's square is larger than the variance: where
// those are few, and nothing is beyond the numbers that the processor multiplies.
HWY_INLINE bool keeps_digits(double mean, double variance) {
  return mean * mean <= 16 * variance && variance > 0x1p-100 && std::isfinite(variance);
}

#if DTYPECHECK_ON_BFLOAT16
// The sums of a and of a * b, or of that alone. Pairs of neighbours are multiplied exactly, and
// added in Float; numbers below 2^-126 count as 0.
template <bool kBoth>
HWY_INLINE TwoSums sums_of_products(const BFloat16* a, const BFloat16* b, int64_t n) {
  const __m512bh ones = (__m512bh)_mm512_set1_epi16(0x3f80);
  const auto add = [=](int64_t i, __mmask32 here, __m512& sum, __m512& products) HWY_ATTR {
    const __m512bh left = (__m512bh)_mm512_maskz_loadu_epi16(here, a + i);
    const __m512bh right = (__m512bh)_mm512_maskz_loadu_epi16(here, b + i);
    if constexpr (kBoth) sum = _mm512_dpbf16_ps(sum, left, ones);
    products = _mm512_dpbf16_ps(products, left, right);
  };
  TwoSums total;
  for (int64_t start = 0; start < n; start += kChunk) {
    const int64_t end = std::min(n, start + kChunk);
    __m512 sum[4], products[4];
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) sum[k] = products[k] = _mm512_setzero_ps();
    int64_t i = start;
    for (; i + 128 <= end; i += 128) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) add(i + k * 32, ~__mmask32{0}, sum[k], products[k]);
    }
    for (; i < end; i += 32) {
      const int64_t left = std::min<int64_t>(32, end - i);
      add(i, static_cast<__mmask32>((uint64_t{1} << left) - 1), sum[0], products[0]);
    }
    const auto all = [](const __m512* parts) HWY_ATTR {
      return sum_of_lanes(
          hn::Add(hn::Add(V{parts[0]}, V{parts[1]}), hn::Add(V{parts[2]}, V{parts[3]})));
    };
    if constexpr (kBoth) total.first += all(sum);
    total.second += all(products);
  }
  return total;
}
#endif

// What can be had quickly, of numbers that it is had for; the rest is computed with more care.
template <class T>
constexpr bool kQuick = DTYPECHECK_ON_BFLOAT16 && std::is_same_v<T, BFloat16>;

// The sums of x, if it is asked for, and of its squares.
template <bool kBoth, class T>
HWY_INLINE TwoSums sums_and_squares(const T* x, int64_t n) {
#if DTYPECHECK_ON_BFLOAT16
  if constexpr (kQuick<T>) return sums_of_products<kBoth>(x, x, n);
#endif
  return two_sums(n, [=](int64_t i, size_t count, V& sum, V& squares) DTYPECHECK_INLINE {
    const V v = load(x + i, count);
    if constexpr (kBoth) sum = hn::Add(sum, v);
    squares = hn::MulAdd(v, v, squares);
  });
}

// Around 0, where that is enough; of the mean square alone the mean is 0.
template <bool kCentered, class T>
HWY_INLINE bool quick_moments(const T* x, int64_t n, Moments& m) {
  const TwoSums sums = sums_and_squares<kCentered>(x, n);
  const double size = static_cast<double>(n);
  m.mean = kCentered ? sums.first / size : 0;
  m.variance = sums.second / size - m.mean * m.mean;
  return keeps_digits(m.mean, m.variance);
}

// Of dy and of dy times the normalised x.
template <class T>
HWY_INLINE bool quick_gradient_sums([[maybe_unused]] const T* dy, [[maybe_unused]] const T* x,
                                    [[maybe_unused]] int64_t n, [[maybe_unused]] double mean,
                                    [[maybe_unused]] double rstd, [[maybe_unused]] TwoSums& sums) {
#if DTYPECHECK_ON_BFLOAT16
  if constexpr (std::is_same_v<T, BFloat16>) {
    sums = sums_of_products<true>(dy, x, n);
    sums.second = (sums.second - mean * sums.first) * rstd;
    return keeps_digits(mean * rstd, 1) && std::isfinite(sums.second);
  }
#endif
  return false;
}

// Chunk by chunk: the first around its own mean, each other around the mean of those before, and
// all put together as Chan et al. 1979 do. x is read once, but for the first chunk. No difference
// of large squares: where a chunk lies far from those before, the variance of all is as large.
template <class T>
HWY_INLINE Moments moments(const T* x, int64_t n) {
  if constexpr (sizeof(T) == 2) {
    if (Moments m; quick_moments<true>(x, n, m)) return m;
  }
  constexpr int64_t kFirst = 1024;
  double mean = 0, squares = 0;
  for (int64_t start = 0, size = 0; start < n; start += size) {
    size = std::min(start == 0 ? kFirst : kChunk, n - start);
    const double before = static_cast<double>(start), here = static_cast<double>(size);
    if (start == 0) {
      mean = sum(size, [=](int64_t i, size_t count) HWY_ATTR { return load(x + i, count); }) / here;
    }
    const float center = static_cast<float>(mean);
    const TwoSums around = sums_around(center, x + start, size);
    const double off = around.first / here, apart = center + off - mean;
    squares += around.second - off * around.first;
    if (start == 0) {
      mean = center + off;
    } else {
      mean += apart * here / (before + here);
      squares += apart * apart * before * here / (before + here);
    }
  }
  if (std::isfinite(squares)) return {mean, std::max(0., squares / static_cast<double>(n))};
  const auto number = [=](int64_t i, size_t count) HWY_ATTR { return load(x + i, count); };
  return moments_of_infinite(sum(n, number) / static_cast<double>(n));
}

// Within what Float's exponents hold of e^-x.
HWY_INLINE V within_exponents(V x) {
#if HWY_TARGET == HWY_AVX3  // the lesser magnitude with x's sign
  return V{_mm512_range_ps(x.raw, _mm512_set1_ps(87.f), 2)};
#else
  return hn::Max(hn::Set(F(), -88.f), hn::Min(hn::Set(F(), 87.f), x));
#endif
}

// p * 2^n, where n is a whole number, and stands in the last bits of `sum` too.
HWY_INLINE V times_power_of_two(V p, V n, V sum) {
#if HWY_TARGET == HWY_AVX3
  (void)sum;
  return V{_mm512_scalef_ps(p.raw, n.raw)};
#else
  (void)n;
  return hn::BitCast(F(), hn::Add(hn::BitCast(U(), p), hn::ShiftLeft<23>(hn::BitCast(U(), sum))));
#endif
}

// e^-x, to 2^-22 of itself for x of -88 … 87; beyond, as at the border. Adding 1.5 * 2^23 rounds to
// a whole number, which stands in the last bits of the sum, from where it goes to the exponent.
HWY_INLINE V exponential_of_negative(V x) {
  const F d;
  const V inside = within_exponents(x);
  const V whole = hn::Set(d, 0x1.8p23f);
  const V sum = hn::NegMulAdd(inside, hn::Set(d, 1.44269504f), whole), twos = hn::Sub(sum, whole);
  V r = hn::NegMulSub(twos, hn::Set(d, 0.693359375f), inside);
  r = hn::NegMulAdd(twos, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::MulAdd(hn::Set(d, 8.297648281e-3f), r, hn::Set(d, 4.191543162e-2f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.1666757464f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.4999889433f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.9999997020f));
  p = hn::MulAdd(p, r, hn::Set(d, 1.000000119f));
  return times_power_of_two(p, twos, sum);
}

// 1 / (1 + e^-x)
HWY_INLINE V sigmoid(V x) {
  const F d;
  const V one = hn::Set(d, 1.f), below = hn::Add(one, exponential_of_negative(x));
#if HWY_TARGET == HWY_AVX3  // 14 bits, and a step of Newton: a third of a division
  const V near = hn::ApproximateReciprocal(below);
  return hn::MulAdd(near, hn::NegMulAdd(below, near, one), near);
#else
  return hn::Div(one, below);
#endif
}

// silu of numbers that are then rounded to 16 bits: to 2^-13 of itself, in two thirds of the steps.
HWY_INLINE V silu_of_narrow(V x) {
  const F d;
  const V inside = within_exponents(x);
  const V whole = hn::Set(d, 0x1.8p23f);
  const V sum = hn::NegMulAdd(inside, hn::Set(d, 1.44269504f), whole), twos = hn::Sub(sum, whole);
  const V r = hn::NegMulSub(twos, hn::Set(d, 0.69314718f), inside);
  V p = hn::MulAdd(hn::Set(d, 4.145856574e-2f), r, hn::Set(d, 0.1679093242f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5000436306f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.9999634027f));
  p = hn::MulAdd(p, r, hn::Set(d, 0.9999992847f));
  const V below = hn::Add(hn::Set(d, 1.f), times_power_of_two(p, twos, sum));
#if HWY_TARGET == HWY_AVX3
  return hn::Mul(x, hn::ApproximateReciprocal(below));
#else
  return hn::Div(x, below);
#endif
}

template <class T>
HWY_INLINE V silu(V x) {
  if constexpr (sizeof(T) == 2) return silu_of_narrow(x);
  return hn::Mul(x, sigmoid(x));
}
// dy times the derivative of silu at x.
HWY_INLINE V silu_gradient(V dy, V x) {
  const V s = sigmoid(x), one = hn::Set(F(), 1.f);
  return hn::Mul(dy, hn::Mul(s, hn::MulAdd(x, hn::Sub(one, s), one)));
}

// n numbers as Float, `otherwise` where there are none, with room for a whole last vector.
inline std::vector<float> floats(Input x, int64_t n, float otherwise) {
  std::vector<float> result(static_cast<size_t>(n) + lanes(), otherwise);
  const auto copy = [&](const auto* from) {
    for_each_vector(n, [&](int64_t i, size_t count)
                           HWY_ATTR { store_all(load(from + i, count), result.data() + i); });
  };
  if (!x.data) return result;
  if (x.dtype == Dtype::kFloat) copy(static_cast<const float*>(x.data));
  if (x.dtype == Dtype::kHalf) copy(static_cast<const Half*>(x.data));
  if (x.dtype == Dtype::kBFloat16) copy(static_cast<const BFloat16*>(x.data));
  return result;
}

// Adds n Floats to as many doubles, and clears them.
HWY_INLINE void flush(int64_t n, float* HWY_RESTRICT sums, double* HWY_RESTRICT totals) {
  for (int64_t i = 0; i < n; ++i) totals[i] += sums[i];
  std::fill_n(sums, n, 0.f);
}

// The sums of parts, each after n numbers of them, in their order.
inline void write_sums(Output to, const double* parts, int64_t count, int64_t n) {
  if (!to.data) return;
  std::vector<double> totals(static_cast<size_t>(n));
  for (int64_t part = 0; part < count; ++part) {
    for (int64_t i = 0; i < n; ++i) totals[static_cast<size_t>(i)] += parts[part * n + i];
  }
  for (int64_t i = 0; i < n; ++i)
    kernels::store(to, i, static_cast<float>(totals[static_cast<size_t>(i)]));
}

// Calls with_type(T()) with the type of the dtype's numbers.
template <class WithType>
HWY_INLINE void with_type_of(Dtype dtype, WithType with_type) {
  if (dtype == Dtype::kFloat) with_type(float());
  if (dtype == Dtype::kHalf) with_type(Half());
  if (dtype == Dtype::kBFloat16) with_type(BFloat16());
}

// Calls run(x, y) with pointers to the numbers, which have one dtype.
template <class Run>
HWY_INLINE void with_numbers(const Input& x, const Output& y, Run run) {
  const auto with = [&](auto number) HWY_ATTR {
    using T = decltype(number);
    run(static_cast<const T*>(x.data), static_cast<T*>(y.data));
  };
#if DTYPECHECK_ON_BFLOAT16  // which runs for no other
  with(BFloat16());
#else
  with_type_of(x.dtype, with);
#endif
}

}  // namespace dtypecheck::kernels::DTYPECHECK_ISA
HWY_AFTER_NAMESPACE();

#endif  // DTYPECHECK_VECTORS
#endif  // include guard
