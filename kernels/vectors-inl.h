// vectors-inl.h: what the vectorised variants share. Included once for each instruction set, after
// <hwy/foreach_target.h>. All arithmetic is in vectors of Float; Half and BFloat16 are converted as
// they are read and written. The numbers past the last whole vector go through a zero-filled one,
// so that a tail is computed as the rest is.
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/element.h"

#if defined(DTYPECHECK_KERNELS_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DTYPECHECK_KERNELS_VECTORS_INL_H
#undef DTYPECHECK_KERNELS_VECTORS_INL_H
#else
#define DTYPECHECK_KERNELS_VECTORS_INL_H
#endif

#undef DTYPECHECK_VECTORS
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
#define DTYPECHECK_VECTORS 0  // the reference is as fast
#else
#define DTYPECHECK_VECTORS 1

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
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
  const hn::RebindToSigned<U> narrowed_from;
  const auto upper = hn::BitCast(narrowed_from, hn::ShiftRight<16>(words));
  hn::StoreU(hn::DemoteTo(bits, upper), bits, reinterpret_cast<uint16_t*>(p));
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
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(U(), 1));
  store_upper(keep_nan(v, hn::Add(hn::Add(bits, hn::Set(U(), 0x7fff)), odd)), p);
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
    V a0 = hn::Zero(F()), a1 = a0, b0 = a0, b1 = a0;
    int64_t i = start;
    for (; i + 2 * step <= end; i += 2 * step) {
      add(i, lanes(), a0, b0);
      add(i + step, lanes(), a1, b1);
    }
    for (; i < end; i += step) add(i, static_cast<size_t>(std::min(step, end - i)), a0, b0);
    total.first += sum_of_lanes(hn::Add(a0, a1));
    total.second += sum_of_lanes(hn::Add(b0, b1));
  }
  return total;
}

struct Moments {
  double mean = 0, variance = 0;  // biased
};

// Chunk by chunk, each around its own mean, and the chunks put together as Chan et al. 1979 do: no
// difference of large squares, and x is read from memory once.
template <class T>
HWY_INLINE Moments moments(const T* x, int64_t n) {
  double mean = 0, squares = 0;
  for (int64_t start = 0; start < n; start += kChunk) {
    const T* const chunk = x + start;
    const int64_t size = std::min(kChunk, n - start);
    const double sum_here =
        sum(size, [=](int64_t i, size_t count) HWY_ATTR { return load(chunk + i, count); });
    const float mean_here = static_cast<float>(sum_here / static_cast<double>(size));
    const V center = hn::Set(F(), mean_here);
    const double squares_here = sum(size, [=](int64_t i, size_t count) HWY_ATTR {
      const V off = hn::Sub(load(chunk + i, count), center);
      const V inside = count == lanes() ? off : hn::IfThenElseZero(hn::FirstN(F(), count), off);
      return hn::Mul(inside, inside);
    });
    const double before = static_cast<double>(start), here = static_cast<double>(size);
    const double apart = mean_here - mean;
    mean += apart * here / (before + here);
    squares += squares_here + apart * apart * before * here / (before + here);
  }
  return {mean, squares / static_cast<double>(n)};
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

// Sums over rows, one a column: in Float over so many rows, and those in double. For no columns it
// sums nothing.
class ColumnSums {
 public:
  explicit ColumnSums(int64_t cols)
      : sums_(cols > 0 ? static_cast<size_t>(cols) + lanes() : 0),
        totals_(static_cast<size_t>(cols)) {}

  // Where the next row is to be added, with room for a whole last vector; null for no columns.
  float* next_row() {
    if (totals_.empty()) return nullptr;
    if (rows_++ % kRows == 0) flush();
    return sums_.data();
  }
  void write(Output sums) {
    flush();
    for (size_t c = 0; c < totals_.size(); ++c) {
      kernels::store(sums, static_cast<int64_t>(c), static_cast<float>(totals_[c]));
    }
  }

 private:
  static constexpr int64_t kRows = 64;
  void flush() {
    for (size_t c = 0; c < totals_.size(); ++c) totals_[c] += sums_[c];
    std::fill(sums_.begin(), sums_.end(), 0.f);
  }

  std::vector<float> sums_;
  std::vector<double> totals_;
  int64_t rows_ = 0;
};

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
  with_type_of(x.dtype, [&](auto number) HWY_ATTR {
    using T = decltype(number);
    run(static_cast<const T*>(x.data), static_cast<T*>(y.data));
  });
}

}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // DTYPECHECK_VECTORS
#endif  // include guard
