// The tile on AVX512-BF16, which multiplies two pairs of BFloat16 and adds them to a Float in each
// lane: twice as many products as Floats have. Written with the processor's own names, as Highway
// 1.0.3 has none for it.
#include "kernels/matmul/blocks.h"

#if defined(__x86_64__)
// GCC 12 warns of its own _mm512_undefined_ps (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include <algorithm>
#include <array>

// One by one, and not for the whole file: what is inlined from headers must run anywhere.
#define ON_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace dtypecheck::kernels {

static constexpr int kRows = 14, kVectors = 2, kLanes = 16, kCols = kVectors * kLanes;

// ---- multiply

template <int kCount>
ON_BFLOAT16 static void multiply_rows(int64_t words, const float* __restrict a,
                                      const float* __restrict b, float* __restrict sums,
                                      bool adds) {
  __m512 sum[kCount][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  for (; words > 0; --words, a += kRows, b += kCols) {
    // The first tile that reads b waits for a cache that is far; a's comes from the second.
    _mm_prefetch(reinterpret_cast<const char*>(b + 16 * kCols), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(b + 16 * kCols + kLanes), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(a + 16 * kRows), _MM_HINT_T0);
    __m512bh right[kVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) right[v] = (__m512bh)_mm512_loadu_ps(b + v * kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < kCount; ++r) {
      const __m512bh left = (__m512bh)_mm512_set1_ps(a[r]);
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], left, right[v]);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      float* const to = sums + r * kCols + v * kLanes;
      _mm512_storeu_ps(to, adds ? _mm512_add_ps(sum[r][v], _mm512_loadu_ps(to)) : sum[r][v]);
    }
  }
}

static void multiply(int64_t words, int64_t count, const float* a, const float* b, float* sums,
                     bool adds) {
  static constexpr auto kOfCount = []<int... kBefore>(std::integer_sequence<int, kBefore...>) {
    return std::array{multiply_rows<kBefore + 1>...};
  }(std::make_integer_sequence<int, kRows>());
  kOfCount[static_cast<size_t>(count - 1)](words, a, b, sums, adds);
}

// ---- pack

// The first `count` numbers at p, 16 or fewer, as Floats; zeros behind them.
ON_BFLOAT16 inline static __m512 sixteen(const void* p, Dtype dtype, int64_t count) {
  const __mmask16 some = static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << count) - 1);
  if (dtype == Dtype::kFloat) return _mm512_maskz_loadu_ps(some, p);
  const __m256i bits = _mm256_maskz_loadu_epi16(some, p);
  if (dtype == Dtype::kHalf) return _mm512_cvtph_ps(bits);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// 16 words of the inner dimension, of `count` numbers.
template <Dtype kDtype>
ON_BFLOAT16 inline static __m512i pairs(const char* p, int64_t count) {
  if (kDtype == Dtype::kBFloat16) {
    return count >= 32 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi16((1u << count) - 1, p);
  }
  const int64_t size = kDtype == Dtype::kFloat ? 4 : 2;
  const __m512 low = sixteen(p, kDtype, count);
  const __m512 high = count > 16 ? sixteen(p + 16 * size, kDtype, count - 16) : _mm512_setzero_ps();
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

template <class Act>
static void with_dtype(Dtype dtype, const Act& act) {
  if (dtype == Dtype::kFloat) act(std::integral_constant<Dtype, Dtype::kFloat>());
  if (dtype == Dtype::kHalf) act(std::integral_constant<Dtype, Dtype::kHalf>());
  if (dtype == Dtype::kBFloat16) act(std::integral_constant<Dtype, Dtype::kBFloat16>());
}

// ---- multiply_few: both factors' words are along the inner dimension, a vector at a time.

constexpr int kFewRows = 4, kFewCols = 4;

template <Dtype kDtype, int kR, int kC>
ON_BFLOAT16 static void multiply_dots(int64_t depth, const float* a, int64_t a_stride,
                                      const View& b, float* sums, int64_t sums_stride) {
  const char* const numbers = static_cast<const char*>(b.numbers.data);
  const int64_t size = kDtype == Dtype::kFloat ? 4 : 2;
  __m512 sum[kR][kC];
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) sum[r][c] = _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < depth; k += 2 * kLanes) {
    __m512bh left[kR];
#pragma GCC unroll 4
    for (int r = 0; r < kR; ++r) left[r] = (__m512bh)_mm512_loadu_ps(a + r * a_stride + k / 2);
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) {
      const auto right =
          (__m512bh)pairs<kDtype>(numbers + (c * b.outer_stride + k) * size, depth - k);
#pragma GCC unroll 4
      for (int r = 0; r < kR; ++r) sum[r][c] = _mm512_dpbf16_ps(sum[r][c], left[r], right);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kR; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < kC; ++c) sums[r * sums_stride + c] = _mm512_reduce_add_ps(sum[r][c]);
  }
}

static void multiply_few(int64_t depth, int64_t rows, const float* a, int64_t a_stride,
                         const View& b, int64_t cols, float* sums, int64_t sums_stride) {
  with_dtype(b.numbers.dtype, [&](auto dtype) {
    for_each_few<kFewRows, kFewCols>(rows, cols, [&](int64_t row, int64_t col, auto r, auto c) {
      View here = b;
      here.numbers = from(b.numbers, col * b.outer_stride);
      multiply_dots<dtype(), r(), c()>(depth, a + row * a_stride, a_stride, here,
                                       sums + row * sums_stride + col, sums_stride);
    });
  });
}

// As matmul_vectors.cpp says.
ON_BFLOAT16 static void transpose(__m512i (&v)[kLanes]) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
  for (int round = 1; round < kLanes; round *= 2) {
    __m512i next[kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < kLanes / 2; ++i) {
      next[i] = _mm512_permutex2var_epi32(v[2 * i], even, v[2 * i + 1]);
      next[i + kLanes / 2] = _mm512_permutex2var_epi32(v[2 * i], odd, v[2 * i + 1]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i) v[i] = next[i];
  }
}

template <Dtype kDtype>
ON_BFLOAT16 static void pack_along_inner(const View& from, int64_t count, int64_t depth,
                                         int64_t width, float* to) {
  // Rows are many, and short in a block: more than what fetches ahead by itself follows.
  constexpr int64_t kAhead = 256;
  const char* const numbers = static_cast<const char*>(from.numbers.data);
  const int64_t size = kDtype == Dtype::kFloat ? 4 : 2;
  for (int64_t k = 0; k < depth; k += 2 * kLanes) {
    const int64_t words = std::min<int64_t>(kLanes, (depth - k + 1) / 2);
    for (int64_t o = 0; o < width; o += kLanes) {
      __m512i v[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        const char* const p = numbers + ((o + i) * from.outer_stride + k) * size;
        if (o + i < count) _mm_prefetch(p + kAhead, _MM_HINT_T0);
        v[i] = o + i < count ? pairs<kDtype>(p, depth - k) : _mm512_setzero_si512();
      }
      transpose(v);
      for (int64_t i = 0; i < words; ++i) _mm512_storeu_si512(to + (k / 2 + i) * width + o, v[i]);
    }
  }
}

template <Dtype kDtype>
ON_BFLOAT16 static void pack_along_outer(const View& from, int64_t count, int64_t depth,
                                         int64_t width, float* to) {
  constexpr int64_t kRowsAhead = 12;
  const char* const numbers = static_cast<const char*>(from.numbers.data);
  const int64_t size = kDtype == Dtype::kFloat ? 4 : 2, row = from.inner_stride * size;
  const __m512i upper = _mm512_set1_epi32(16 << 16);  // lane i: number i of low, and of high
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i together =
      _mm512_add_epi32(_mm512_or_si512(lane, _mm512_slli_epi32(lane, 16)), upper);
  for (int64_t k = 0; k < depth; k += 2, to += width) {
    for (int64_t o = 0; o < width; o += kLanes) {
      const int64_t some = std::clamp<int64_t>(count - o, 0, kLanes);
      const char* const p = numbers + k * row + o * size;
      _mm_prefetch(p + kRowsAhead * row, _MM_HINT_T0);
      _mm_prefetch(p + (kRowsAhead + 1) * row, _MM_HINT_T0);
      const __m512 low = sixteen(p, kDtype, some);
      const __m512 high = sixteen(p + row, kDtype, k + 1 < depth ? some : 0);
      const __m512i halves = (__m512i)_mm512_cvtne2ps_pbh(high, low);
      _mm512_storeu_si512(to + o, _mm512_permutexvar_epi16(together, halves));
    }
  }
}

// Strides of both: gathered as Floats first, a few at a time.
static void pack_one_by_one(const View& from, int64_t count, int64_t depth, int64_t width,
                            float* to) {
  constexpr int64_t kDepth = 32;
  float room[kDepth * kCols];
  for (int64_t k = 0; k < depth; k += kDepth, to += kDepth / 2 * width) {
    const int64_t here = std::min(kDepth, depth - k);
    for (int64_t i = 0; i < here; ++i) {
      for (int64_t o = 0; o < count; ++o)
        room[i * kCols + o] =
            load(from.numbers, o * from.outer_stride + (k + i) * from.inner_stride);
    }
    pack_along_outer<Dtype::kFloat>({{room}, 1, kCols}, count, here, width, to);
  }
}

static void pack(const View& from, int64_t count, int64_t depth, int64_t width, float* to) {
  if (from.inner_stride != 1 && from.outer_stride != 1)
    return pack_one_by_one(from, count, depth, width, to);
  with_dtype(from.numbers.dtype, [&](auto dtype) {
    if (from.inner_stride == 1) {
      pack_along_inner<dtype()>(from, count, depth, width, to);
    } else {
      pack_along_outer<dtype()>(from, count, depth, width, to);
    }
  });
}

Tile bfloat16_tile() {
  Tile t = vectors_tile();
  t.rows = kRows;
  t.cols = kCols;
  t.numbers_in_word = 2;
  t.pack = pack;
  t.multiply = multiply;
  t.multiply_few = multiply_few;
  return t;
}

}  // namespace dtypecheck::kernels

#else
namespace dtypecheck::kernels {

Tile bfloat16_tile() { return {}; }

}  // namespace dtypecheck::kernels
#endif
