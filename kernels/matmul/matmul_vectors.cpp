// The tile on Highway: rows x vectors of sums in as many registers as the processor has, less those
// of b's vectors and one of a's number.
#include "kernels/matmul/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matmul/matmul_vectors.cpp"
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
                                const float* HWY_RESTRICT b, float* HWY_RESTRICT sums) {
  const F d;
  V sum[kCount][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
  }
  for (; words > 0; --words, a += kRows, b += kCols) {
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
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, sums + r * kCols + v * kLanes);
  }
}

void multiply(int64_t words, int64_t count, const float* a, const float* b, float* sums) {
  if (count == 1) return multiply_rows<1>(words, a, b, sums);
  if (count <= 4) return multiply_rows<4>(words, a, b, sums);
  if (count <= kRows / 2) return multiply_rows<kRows / 2>(words, a, b, sums);
  multiply_rows<kRows>(words, a, b, sums);
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

// A vector may reach past the width: what follows is written after it, or is slack.
template <class T>
HWY_INLINE void pack_along_inner(const T* from, int64_t stride, int64_t count, int64_t depth,
                                 int64_t width, float* to) {
  for (int64_t k = 0; k < depth; k += kLanes) {
    const int64_t numbers = std::min<int64_t>(kLanes, depth - k);
    for (int64_t o = 0; o < width; o += kLanes) {
      V v[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        v[i] = o + i < count ? load(from + (o + i) * stride + k, static_cast<size_t>(numbers))
                             : hn::Zero(F());
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
  const V bias_of_row = hn::Set(F(), t.bias_of_rows ? load_or(t.bias, row, 0) : 0.f);
  for_each_vector(t.cols, [&](int64_t c, size_t count) HWY_ATTR {
    V sum = load_all(sums + c);
    if (before) sum = hn::Add(sum, load(before + c, count));
    if (after) return store(sum, after + c, count);
    sum = hn::Add(sum, bias_of_row);
    if (t.bias.data && !t.bias_of_rows) {
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

void multiply(int64_t words, int64_t, const float* a, const float* b, float* sums) {
  std::fill_n(sums, kRows * kCols, 0.f);
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
      const float bias = load_or(t.bias, t.bias_of_rows ? row : col, 0);
      kernels::store(t.y, row * t.y_stride + col, sum + bias);
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
