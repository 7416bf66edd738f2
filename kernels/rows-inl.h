// rows-inl.h: layer norm, and RMS norm as one without mean and beta: rows that are normalised each
// for itself. Included once for each instruction set, as vectors-inl.h is.
#include "kernels/layer_norm/layer_norm.h"
#include "kernels/threads.h"
#include "kernels/vectors-inl.h"

#if defined(DTYPECHECK_KERNELS_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DTYPECHECK_KERNELS_ROWS_INL_H
#undef DTYPECHECK_KERNELS_ROWS_INL_H
#else
#define DTYPECHECK_KERNELS_ROWS_INL_H
#endif

#if DTYPECHECK_VECTORS
HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::DTYPECHECK_ISA {

// Rows are cut into parts of so many, at most 32: each part of backward has sums of its own.
inline int64_t rows_of_part(int64_t rows, int64_t cols) {
  return std::max({int64_t{1}, kPartNumbers / cols, (rows + 31) / 32});
}

template <class Body>
HWY_INLINE void for_parts_of_rows(int64_t rows, int64_t cols, const Body& body) {
  const int64_t size = rows_of_part(rows, cols);
  for_each_part((rows + size - 1) / size,
                [&](int64_t part) { body(part, part * size, std::min(rows, (part + 1) * size)); });
}

// Rows are read once: as Floats they fit the nearest cache, and what remains is over those. Some
// rows go together, so that one is summed while the sums of another are added up.
constexpr int64_t kFloatsAtOnce = 4096, kMostRowsAtOnce = 8;

struct RowMoments {
  double mean = 0, variance = 0;
  double off = 0;  // mean less what was taken from the numbers in the row
};

// Leaves in `row` the numbers less a center, around which squares are summed. Of 16 bits that is
// the mean of the first 64, so that x is converted once: where those are far from the others so is
// the variance large, and Float loses fewer digits than the dtype has not. Of Float it is the mean.
// For RMS norm it is 0.
template <bool kCentered, class T>
HWY_INLINE RowMoments moments_of_row(const T* x, int64_t n, float* row) {
  const double size = static_cast<double>(n);
  const auto number = [=](int64_t i, size_t count) HWY_ATTR { return load(x + i, count); };
  if constexpr (!kCentered) {
    return {0, sum(n, [=](int64_t i, size_t count) HWY_ATTR {
                 const V v = number(i, count);
                 store_all(v, row + i);
                 return hn::Mul(v, v);
               }) / size};
  }
  const int64_t first = sizeof(T) == 2 && n <= kChunk ? std::min<int64_t>(n, 64) : n;
  const float near = static_cast<float>(sum(first, number) / static_cast<double>(first));
  const V center = hn::Set(F(), near);
  const TwoSums sums = two_sums(n, [=](int64_t i, size_t count, V& total, V& squares) HWY_ATTR {
    const V off = hn::Sub(number(i, count), center);
    const V inside = count == lanes() ? off : hn::IfThenElseZero(hn::FirstN(F(), count), off);
    store_all(inside, row + i);
    total = hn::Add(total, inside);
    squares = hn::MulAdd(inside, inside, squares);
  });
  const double off = sums.first / size, variance = sums.second / size - off * off;
  if (std::isfinite(variance)) return {near + off, std::max(0., variance), off};
  const Moments m = moments_of_infinite(sum(n, number) / size);
  return {m.mean, m.variance, off};
}

// Of x where it lies, in 16 bits, which is converted again as the row is written: that takes less
// time than Floats that are kept. Around 0, where that is enough.
template <bool kCentered, class T>
HWY_INLINE bool quick_moments_of_row(const T* x, int64_t n, RowMoments& m) {
  if constexpr (sizeof(T) != 2) return false;
  Moments quick;
  if (!quick_moments<kCentered>(x, n, quick)) return false;
  m = {quick.mean, quick.variance, quick.mean};
  return true;
}

// Of what moments_of_row leaves, or of x.
template <bool kCentered, class From, class T>
HWY_INLINE void write_row(const From* row, int64_t n, double off, float rstd, const float* gamma,
                          const float* beta, T* y) {
  const V factor = hn::Set(F(), rstd), shift = hn::Set(F(), static_cast<float>(off * rstd));
  write_each(y, n, [=](int64_t i, size_t count) DTYPECHECK_INLINE {
    V v;
    if constexpr (std::is_same_v<From, float>) {
      v = load_all(row + i);  // there is room behind it
    } else {
      v = load(row + i, count);
    }
    const V weight = load_all(gamma + i);
    if constexpr (!kCentered) return hn::Mul(hn::Mul(v, factor), weight);
    return hn::MulAdd(hn::MulSub(v, factor, shift), weight, load_all(beta + i));
  });
}

template <bool kCentered, class T>
HWY_NOINLINE void normalize_rows(const LayerNorm& a, int64_t first, int64_t last,
                                 const float* gamma, const float* beta, const T* x, T* y) {
  const int64_t room = (a.cols + 2 * static_cast<int64_t>(lanes())) & -16;
  const int64_t together = std::clamp<int64_t>(kFloatsAtOnce / room, 1, kMostRowsAtOnce);
  std::vector<float> rows(static_cast<size_t>(together * room));
  for (int64_t start = first; start < last; start += together) {
    const int64_t count = std::min(together, last - start);
    RowMoments m[kMostRowsAtOnce];
    float rstd[kMostRowsAtOnce];
    bool quick[kMostRowsAtOnce];
    for (int64_t r = 0; r < count; ++r) {
      const T* const row = x + (start + r) * a.cols;
      quick[r] = quick_moments_of_row<kCentered>(row, a.cols, m[r]);
      if (!quick[r]) m[r] = moments_of_row<kCentered>(row, a.cols, &rows[0] + r * room);
    }
    for (int64_t r = 0; r < count; ++r)
      rstd[r] = static_cast<float>(1 / std::sqrt(m[r].variance + a.eps));
    for (int64_t r = 0; r < count; ++r) {
      const int64_t at = (start + r) * a.cols;
      if (quick[r]) {
        write_row<kCentered>(x + at, a.cols, m[r].off, rstd[r], gamma, beta, y + at);
      } else {
        write_row<kCentered>(rows.data() + r * room, a.cols, m[r].off, rstd[r], gamma, beta,
                             y + at);
      }
      if (a.mean) a.mean[start + r] = static_cast<float>(m[r].mean);
      if (a.rstd) a.rstd[start + r] = rstd[r];
    }
  }
}

template <bool kCentered, class T>
void normalize(const LayerNorm& a, const T* x, T* y) {
  const std::vector<float> gamma = floats(a.gamma, a.cols, 1), beta = floats(a.beta, a.cols, 0);
  for_parts_of_rows(a.rows, a.cols, [&](int64_t, int64_t first, int64_t last) {
    normalize_rows<kCentered>(a, first, last, gamma.data(), beta.data(), x, y);
  });
}

// ---- backward

// Where a part of the rows adds up the gradients of gamma and beta: in Float over so many rows, and
// those sums in double.
struct ColumnSums {
  float *gamma, *beta;
};
constexpr int64_t kFloatRows = 64;

// So many rows at once, whose sums are in registers, as are those of gamma and beta over them.
constexpr int kRowsAtOnce = HWY_TARGET == HWY_AVX2 ? 2 : 4;

template <bool kCentered, int kRows, class T>
HWY_INLINE void rows_backward(const LayerNormBackward& a, int64_t row, const float* gamma,
                              const ColumnSums& sums, const T* all_dy, const T* all_x, T* all_dx) {
  const F d;
  const int64_t step = static_cast<int64_t>(lanes());
  const T *const dy = all_dy + row * a.cols, *const x = all_x + row * a.cols;
  T* const dx = all_dx + row * a.cols;
  V shift[kRows], rstd[kRows];  // the normalised x is x * rstd - shift
  double sum_h[kRows] = {}, sum_dot[kRows] = {};
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    shift[r] = hn::Set(d, kCentered ? a.mean[row + r] * a.rstd[row + r] : 0.f);
    rstd[r] = hn::Set(d, a.rstd[row + r]);
  }
  for (int64_t start = 0; start < a.cols; start += kChunk) {
    const int64_t end = std::min(a.cols, start + kChunk);
    V sum[kRows], dot[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sum[r] = dot[r] = hn::Zero(d);
    const auto add = [&](int64_t i, size_t count) DTYPECHECK_INLINE {
      const V weight = load_all(gamma + i);
      V dgamma = load_all(sums.gamma + i), dbeta = dgamma;
      if constexpr (kCentered) dbeta = load_all(sums.beta + i);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const V here = load(dy + r * a.cols + i, count), h = hn::Mul(here, weight);
        const V z = hn::MulSub(load(x + r * a.cols + i, count), rstd[r], shift[r]);
        dot[r] = hn::MulAdd(h, z, dot[r]);
        dgamma = hn::MulAdd(here, z, dgamma);
        if constexpr (kCentered) {
          sum[r] = hn::Add(sum[r], h);
          dbeta = hn::Add(dbeta, here);
        }
      }
      store_all(dgamma, sums.gamma + i);
      if constexpr (kCentered) store_all(dbeta, sums.beta + i);
    };
    int64_t i = start;
    for (; i + step <= end; i += step) add(i, lanes());
    if (i < end) add(i, static_cast<size_t>(end - i));
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      sum_h[r] += sum_of_lanes(sum[r]);
      sum_dot[r] += sum_of_lanes(dot[r]);
    }
  }
  const double n = static_cast<double>(a.cols);
  for (int r = 0; r < kRows; ++r) {
    // dx = dy * gamma * rstd - (x * slope + bias)
    const double s = a.rstd[row + r], by = sum_dot[r] / n * s * s;
    const V slope = hn::Set(d, static_cast<float>(by)), factor = rstd[r];
    const double center = kCentered ? a.mean[row + r] : 0, mean_h = kCentered ? sum_h[r] / n : 0;
    const V bias = hn::Set(d, static_cast<float>(mean_h * s - center * hn::GetLane(slope)));
    const T *const row_dy = dy + r * a.cols, *const row_x = x + r * a.cols;
    write_each(dx + r * a.cols, a.cols, [=](int64_t i, size_t count) DTYPECHECK_INLINE {
      const V h = hn::Mul(load(row_dy + i, count), load_all(gamma + i));
      return hn::MulSub(h, factor, hn::MulAdd(load(row_x + i, count), slope, bias));
    });
  }
}

template <bool kCentered, class T>
HWY_NOINLINE void rows_backward_part(const LayerNormBackward& a, int64_t first, int64_t last,
                                     const float* gamma, double* dgamma, double* dbeta, const T* dy,
                                     const T* x, T* dx) {
  const size_t room = static_cast<size_t>(a.cols) + lanes();
  std::vector<float> sums((kCentered ? 2 : 1) * room);
  const ColumnSums to{sums.data(), kCentered ? sums.data() + room : nullptr};
  for (int64_t start = first; start < last; start += kFloatRows) {
    const int64_t end = std::min(last, start + kFloatRows);
    int64_t r = start;
    for (; r + kRowsAtOnce <= end; r += kRowsAtOnce)
      rows_backward<kCentered, kRowsAtOnce>(a, r, gamma, to, dy, x, dx);
    for (; r < end; ++r) rows_backward<kCentered, 1>(a, r, gamma, to, dy, x, dx);
    flush(a.cols, to.gamma, dgamma);
    if (kCentered) flush(a.cols, to.beta, dbeta);
  }
}

template <bool kCentered, class T>
void normalize_backward(const LayerNormBackward& a, const T* dy, const T* x, T* dx) {
  const std::vector<float> gamma = floats(a.gamma, a.cols, 1);
  const int64_t size = rows_of_part(a.rows, a.cols), parts = (a.rows + size - 1) / size;
  std::vector<double> dgamma(static_cast<size_t>(parts * a.cols));
  std::vector<double> dbeta(kCentered ? dgamma.size() : 0);
  for_parts_of_rows(a.rows, a.cols, [&](int64_t part, int64_t first, int64_t last) {
    rows_backward_part<kCentered>(a, first, last, gamma.data(), dgamma.data() + part * a.cols,
                                  kCentered ? dbeta.data() + part * a.cols : nullptr, dy, x, dx);
  });
  write_sums(a.dgamma, dgamma.data(), parts, a.cols);
  write_sums(a.dbeta, dbeta.data(), parts, a.cols);
}

}  // namespace dtypecheck::kernels::DTYPECHECK_ISA
HWY_AFTER_NAMESPACE();
#endif
#endif  // include guard
