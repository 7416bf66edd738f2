// The tile on Highway: rows x vectors of sums in as many registers as the processor has, less those
// of b's vectors and one of a's number.
#include <array>

#include "kernels/matmul/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_vectors.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>

#include "kernels/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dtypecheck::kernels::HWY_NAMESPACE {
void pack_one_by_one(const View& from, int64_t count, int64_t depth, int64_t width, float* to) {
  for (int64_t k = 0; k < depth; ++k, to += width) {
    for (int64_t o = 0; o < width; ++o) {
      to[o] = o < count ? kernels::load(from.numbers, o * from.outer_stride + k * from.inner_stride)
                        : 0.f;
    }
  }
}

#if DTYPECHECK_VECTORS

#if HWY_TARGET == HWY_AVX3
constexpr int kRows = 14, kVectors = 2;  // 32 registers of 16
#elif HWY_TARGET == HWY_AVX2
constexpr int kRows = 6, kVectors = 2;  // 16 of 8
#else
constexpr int kRows = 8, kVectors = 3;  // 32 of 4
#endif
constexpr int kLanes = HWY_MAX_BYTES / sizeof(float);
constexpr int kCols = kVectors * kLanes;

// ---- multiply

template <int kCount>
HWY_NOINLINE void multiply_rows(int64_t words, const float* HWY_RESTRICT a,
                                const float* HWY_RESTRICT b, float* HWY_RESTRICT sums, bool adds) {
  const F d;
  V sum[kCount][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (; words > 0; --words, a += kRows, b += kCols) {
    // The first tile that reads b waits for a cache that is far; a's comes from the second.
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hwy::Prefetch(b + 16 * kCols + v * kLanes);
    hwy::Prefetch(a + 16 * kRows);
    V right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kCount; ++r) {
      const V left = hn::Set(d, a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* const to = sums + r * kCols + v * kLanes;
      hn::StoreU(adds ? hn::Add(sum[r][v], hn::LoadU(d, to)) : sum[r][v], d, to);
    }
  }
}

void multiply(int64_t words, int64_t count, const float* a, const float* b, float* sums,
              bool adds) {
  static constexpr auto kOfCount = []<int... kBefore>(std::integer_sequence<int, kBefore...>) {
    return std::array{multiply_rows<kBefore + 1>...};
  }(std::make_integer_sequence<int, kRows>());
  kOfCount[static_cast<size_t>(count - 1)](words, a, b, sums, adds);
}

// ---- multiply_few: both factors' numbers are along the inner dimension, a vector at a time.

constexpr int kFewRows = 4, kFewCols = HWY_TARGET == HWY_AVX2 ? 2 : 4;

template <int kR, int kC, class T>
HWY_NOINLINE void multiply_dots(int64_t depth, const float* a, int64_t a_stride, const T* b,
                                int64_t b_stride, float* sums, int64_t sums_stride) {
  V sum[kR][kC];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) sum[r][c] = hn::Zero(F());
  }
  for_each_vector(depth, [&](int64_t k, size_t count) DTYPECHECK_INLINE {
    V left[kR];
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) left[r] = load_all(a + r * a_stride + k);
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) {
      const V right = load(b + c * b_stride + k, count);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) sum[r][c] = hn::MulAdd(left[r], right, sum[r][c]);
    }
  });
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c)
      sums[r * sums_stride + c] = static_cast<float>(sum_of_lanes(sum[r][c]));
  }
}

void multiply_few(int64_t depth, int64_t rows, const float* a, int64_t a_stride, const View& b,
                  int64_t cols, float* sums, int64_t sums_stride) {
  with_type_of(b.numbers.dtype, [&](auto number) {
    const auto* const numbers = static_cast<const decltype(number)*>(b.numbers.data);
    for_each_few<kFewRows, kFewCols>(rows, cols, [&](int64_t row, int64_t col, auto r, auto c) {
      multiply_dots<r(), c()>(depth, a + row * a_stride, a_stride, numbers + col * b.outer_stride,
                              b.outer_stride, sums + row * sums_stride + col, sums_stride);
    });
  });
}

// ---- pack

// As many vectors as they have lanes: v[i] lane j becomes v[j] lane i. An address is the vector's
// bits and the lane's; each round moves the lane's last bit to the front, and so all of them.
HWY_INLINE void transpose(V (&v)[kLanes]) {
  const F d;
  for (int round = 1; round < kLanes; round *= 2) {
    V next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[i] = hn::ConcatEven(d, v[2 * i + 1], v[2 * i]);
      next[i + kLanes / 2] = hn::ConcatOdd(d, v[2 * i + 1], v[2 * i]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) v[i] = next[i];
  }
}

// Rows are many, and short in a block: more than what fetches ahead by itself follows. In bytes.
constexpr int64_t kAhead = 256;
constexpr int64_t kRowsAhead = 12;

// A vector may reach past the width: what follows is written after it, or is slack.
template <class T>
HWY_INLINE void pack_along_inner(const T* from, int64_t stride, int64_t count, int64_t depth,
                                 int64_t width, float* to) {
  for (int64_t k = 0; k < depth; k += kLanes) {
    const int64_t numbers = std::min<int64_t>(kLanes, depth - k);
    for (int64_t o = 0; o < width; o += kLanes) {
      V v[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        const T* const p = from + (o + i) * stride + k;
        if (o + i < count) hwy::Prefetch(p + kAhead / static_cast<int64_t>(sizeof(T)));
        v[i] = o + i < count ? load(p, static_cast<size_t>(numbers)) : hn::Zero(F());
      }
      transpose(v);
      for (int64_t i = 0; i < numbers; ++i) store_all(v[i], to + (k + i) * width + o);
    }
  }
}

template <class T>
HWY_INLINE void pack_along_outer(const T* from, int64_t stride, int64_t count, int64_t depth,
                                 int64_t width, float* to) {
  for (int64_t k = 0; k < depth; ++k, from += stride, to += width) {
    for (int64_t o = 0; o < width; o += kLanes) {
      const int64_t numbers = std::min<int64_t>(kLanes, count - o);
      hwy::Prefetch(from + kRowsAhead * stride + o);
      store_all(numbers > 0 ? load(from + o, static_cast<size_t>(numbers)) : hn::Zero(F()), to + o);
    }
  }
}

void pack(const View& from, int64_t count, int64_t depth, int64_t width, float* to) {
  if (from.inner_stride != 1 && from.outer_stride != 1)
    return pack_one_by_one(from, count, depth, width, to);
  with_type_of(from.numbers.dtype, [&](auto number) HWY_ATTR {
    const auto* numbers = static_cast<const decltype(number)*>(from.numbers.data);
    if (from.inner_stride == 1) {
      pack_along_inner(numbers, from.outer_stride, count, depth, width, to);
    } else {
      pack_along_outer(numbers, from.inner_stride, count, depth, width, to);
    }
  });
}

// ---- finish

template <class T>
HWY_INLINE void finish_row(const TileSums& t, int64_t row, T* y) {
  const float* const sums = t.sums + row * t.sums_stride;
  const float* const before = t.before ? t.before + row * t.stride : nullptr;
  float* const after = t.after ? t.after + row * t.stride : nullptr;
  for_each_vector(t.cols, [&](int64_t c, size_t count) HWY_ATTR {
    V sum = load_all(sums + c);
    if (before) sum = hn::Add(sum, load(before + c, count));
    if (after) return store(sum, after + c, count);
    if (t.bias.data) {
      with_type_of(t.bias.dtype, [&](auto number) HWY_ATTR {
        const auto* bias = static_cast<const decltype(number)*>(t.bias.data);
        sum = hn::Add(sum, load(bias + c, count));
      });
    }
    store(sum, y + c, count);
  });
}

void finish(const TileSums& t) {
  with_type_of(t.y.dtype, [&](auto number) HWY_ATTR {
    auto* y = static_cast<decltype(number)*>(t.y.data);
    for (int64_t row = 0; row < t.rows; ++row, y += t.y_stride) finish_row(t, row, y);
  });
}

#else

// Without vectors, for tests.
constexpr int kRows = 2, kCols = 3;

void multiply(int64_t words, int64_t, const float* a, const float* b, float* sums, bool adds) {
  if (!adds) std::fill_n(sums, kRows * kCols, 0.f);
  for (; words > 0; --words, a += kRows, b += kCols)
    for (int i = 0; i < kRows * kCols; ++i) sums[i] += a[i / kCols] * b[i % kCols];
}

void finish(const TileSums& t) {
  for (int64_t i = 0; i < t.rows * t.cols; ++i) {
    const int64_t row = i / t.cols, col = i % t.cols, at = row * t.stride + col;
    const float sum = t.sums[row * t.sums_stride + col] + (t.before ? t.before[at] : 0.f);
    if (t.after) {
      t.after[at] = sum;
    } else {
      kernels::store(t.y, row * t.y_stride + col, sum + load_or(t.bias, col, 0));
    }
  }
}
#endif

Tile tile() {
  Tile t;
  t.rows = kRows;
  t.cols = kCols;
#if DTYPECHECK_VECTORS
  t.pack = pack;
  t.multiply_few = multiply_few;
#else
  t.pack = pack_one_by_one;
#endif
  t.multiply = multiply;
  t.finish = finish;
  return t;
}

}  // namespace dtypecheck::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dtypecheck::kernels {

HWY_EXPORT(tile);
Tile vectors_tile() { return HWY_DYNAMIC_DISPATCH(tile)(); }

}  // namespace dtypecheck::kernels
#endif
