// The tile on AVX512-BF16, which multiplies two pairs of BFloat16 and adds them to a Float in each
// lane: twice as many products as Floats have. Written with the processor's own names, as Highway
// 1.0.3 has none for it.
#include "kernels/matmul/blocks.h"

#if defined(__x86_64__)
// GCC 12 warns of its own _mm512_undefined_ps (bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>

// One by one, and not for the whole file: what is inlined from headers must run anywhere.
#define ON_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))

namespace dtypecheck::kernels {

static constexpr int kRows = 14, kVectors = 2, kLanes = 16, kCols = kVectors * kLanes;

bool has_bfloat16_tile() {
  static const bool has = has_vectors() && __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  return has;
}

// ---- multiply

template <int kCount>
ON_BFLOAT16 static void multiply_rows(int64_t words, const float* __restrict a,
                                      const float* __restrict b, float* __restrict sums) {
  __m512 sum[kCount][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kCount; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  for (; words > 0; --words, a += kRows, b += kCols) {
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
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_ps(sums + r * kCols + v * kLanes, sum[r][v]);
  }
}

static void multiply(int64_t words, int64_t count, const float* a, const float* b, float* sums) {
  if (count == 1) return multiply_rows<1>(words, a, b, sums);
  if (count <= 4) return multiply_rows<4>(words, a, b, sums);
  if (count <= kRows / 2) return multiply_rows<kRows / 2>(words, a, b, sums);
  multiply_rows<kRows>(words, a, b, sums);
}

// ---- pack

// The first `count` numbers at p, 16 or fewer, as Floats; zeros behind them.
ON_BFLOAT16 static __m512 sixteen(const void* p, Dtype dtype, int64_t count) {
  const __mmask16 some = static_cast<__mmask16>(count >= 16 ? 0xffff : (1 << count) - 1);
  if (dtype == Dtype::kFloat) return _mm512_maskz_loadu_ps(some, p);
  const __m256i bits = _mm256_maskz_loadu_epi16(some, p);
  if (dtype == Dtype::kHalf) return _mm512_cvtph_ps(bits);
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

// 16 words of the inner dimension.
ON_BFLOAT16 static __m512i pairs(const char* p, Dtype dtype, int64_t count) {
  if (dtype == Dtype::kBFloat16) {
    return _mm512_maskz_loadu_epi16(count >= 32 ? ~0u : (1u << count) - 1, p);
  }
  const int64_t size = dtype == Dtype::kFloat ? 4 : 2, first = std::min<int64_t>(count, 16);
  const __m512 low = sixteen(p, dtype, first);
  const __m512 high = count > 16 ? sixteen(p + 16 * size, dtype, count - 16) : _mm512_setzero_ps();
  return (__m512i)_mm512_cvtne2ps_pbh(high, low);
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

ON_BFLOAT16 static void pack_along_inner(const View& from, int64_t count, int64_t depth,
                                         int64_t width, float* to) {
  const char* const numbers = static_cast<const char*>(from.numbers.data);
  const int64_t size = from.numbers.dtype == Dtype::kFloat ? 4 : 2;
  for (int64_t k = 0; k < depth; k += 2 * kLanes) {
    const int64_t words = std::min<int64_t>(kLanes, (depth - k + 1) / 2);
    for (int64_t o = 0; o < width; o += kLanes) {
      __m512i v[kLanes];
      for (int i = 0; i < kLanes; ++i) {
        v[i] = o + i < count ? pairs(numbers + ((o + i) * from.outer_stride + k) * size,
                                     from.numbers.dtype, std::min<int64_t>(32, depth - k))
                             : _mm512_setzero_si512();
      }
      transpose(v);
      for (int64_t i = 0; i < words; ++i) _mm512_storeu_si512(to + (k / 2 + i) * width + o, v[i]);
    }
  }
}

ON_BFLOAT16 static void pack_along_outer(const View& from, int64_t count, int64_t depth,
                                         int64_t width, float* to) {
  const char* const numbers = static_cast<const char*>(from.numbers.data);
  const int64_t size = from.numbers.dtype == Dtype::kFloat ? 4 : 2;
  const __m512i upper = _mm512_set1_epi32(16 << 16);  // lane i: number i of low, and of high
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i together =
      _mm512_add_epi32(_mm512_or_si512(lane, _mm512_slli_epi32(lane, 16)), upper);
  for (int64_t k = 0; k < depth; k += 2, to += width) {
    for (int64_t o = 0; o < width; o += kLanes) {
      const int64_t some = std::clamp<int64_t>(count - o, 0, kLanes);
      const char* const p = numbers + (k * from.inner_stride + o) * size;
      const __m512 low = sixteen(p, from.numbers.dtype, some);
      const __m512 high =
          sixteen(p + from.inner_stride * size, from.numbers.dtype, k + 1 < depth ? some : 0);
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
    pack_along_outer({{room}, 1, kCols}, count, here, width, to);
  }
}

static void pack(const View& from, int64_t count, int64_t depth, int64_t width, float* to) {
  if (from.inner_stride == 1) return pack_along_inner(from, count, depth, width, to);
  if (from.outer_stride == 1) return pack_along_outer(from, count, depth, width, to);
  pack_one_by_one(from, count, depth, width, to);
}

Tile bfloat16_tile() {
  Tile t = vectors_tile();
  t.rows = kRows;
  t.cols = kCols;
  t.numbers_in_word = 2;
  t.pack = pack;
  t.multiply = multiply;
  return t;
}

}  // namespace dtypecheck::kernels

#else
namespace dtypecheck::kernels {

bool has_bfloat16_tile() { return false; }
Tile bfloat16_tile() { return {}; }

}  // namespace dtypecheck::kernels
#endif
