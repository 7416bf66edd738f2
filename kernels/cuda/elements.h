// elements.h: numbers as kernels read and write them: 16 bytes at once where they are aligned to
// that, one at a time where not, and as Floats in between.
#pragma once

#include "kernels/cuda/grid.h"
#include "kernels/element.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace dtypecheck::kernels::cuda {

struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

DTYPECHECK_DEVICE float to_float(float x) { return x; }
#ifdef __CUDACC__
DTYPECHECK_DEVICE float to_float(Half x) { return __half2float(__ushort_as_half(x.bits)); }
DTYPECHECK_DEVICE float to_float(BFloat16 x) { return __uint_as_float(uint32_t{x.bits} << 16); }
DTYPECHECK_DEVICE void assign(float& to, float x) { to = x; }
DTYPECHECK_DEVICE void assign(Half& to, float x) { to.bits = __half_as_ushort(__float2half_rn(x)); }
DTYPECHECK_DEVICE void assign(BFloat16& to, float x) {
  to.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
}
#else
inline float to_float(Half x) { return half_to_float(x.bits); }
inline float to_float(BFloat16 x) { return bfloat16_to_float(x.bits); }
inline void assign(float& to, float x) { to = x; }
inline void assign(Half& to, float x) { to.bits = float_to_half(x); }
inline void assign(BFloat16& to, float x) { to.bits = float_to_bfloat16(x); }
#endif

template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T at[n];
};
template <class T>
inline constexpr int kWide = 16 / sizeof(T);

template <int n, class T>
DTYPECHECK_DEVICE Pack<T, n> load_pack(const T* p) {
  return *reinterpret_cast<const Pack<T, n>*>(p);
}
template <int n, class T>
DTYPECHECK_DEVICE void store_pack(T* p, const Pack<T, n>& pack) {
  *reinterpret_cast<Pack<T, n>*>(p) = pack;
}

inline bool is_aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// Numbers of whatever dtype: that is asked at each read, where all threads answer alike, as a
// kernel for each of the three would be three times as many. Null, each is `if_null`.
struct Weights {
  explicit Weights(Input w, float if_null = 0)
      : data(w.data), dtype(w.dtype), otherwise(if_null), aligned(is_aligned(w.data)) {}

  DTYPECHECK_DEVICE float operator[](int64_t i) const {
    if (!data) return otherwise;
    if (dtype == Dtype::kFloat) return static_cast<const float*>(data)[i];
    if (dtype == Dtype::kHalf) return to_float(static_cast<const Half*>(data)[i]);
    return to_float(static_cast<const BFloat16*>(data)[i]);
  }
  // n from the i-th on, which is a multiple of n.
  template <int n>
  DTYPECHECK_DEVICE void load(int64_t i, float (&to)[n]) const {
    if (!data || !aligned || n == 1) {
      DTYPECHECK_UNROLL
      for (int k = 0; k < n; ++k) to[k] = (*this)[i + k];
    } else if (dtype == Dtype::kFloat) {
      load_as(static_cast<const float*>(data) + i, to);
    } else if (dtype == Dtype::kHalf) {
      load_as(static_cast<const Half*>(data) + i, to);
    } else {
      load_as(static_cast<const BFloat16*>(data) + i, to);
    }
  }

  const void* data;
  Dtype dtype;
  float otherwise;
  bool aligned;

 private:
  template <int n, class T>
  DTYPECHECK_DEVICE static void load_as(const T* p, float (&to)[n]) {
    constexpr int kAtOnce = n < kWide<T> ? n : kWide<T>;
    DTYPECHECK_UNROLL
    for (int first = 0; first < n; first += kAtOnce) {
      const Pack<T, kAtOnce> pack = load_pack<kAtOnce>(p + first);
      DTYPECHECK_UNROLL
      for (int k = 0; k < kAtOnce; ++k) to[first + k] = to_float(pack.at[k]);
    }
  }
};

// n numbers to the i-th place on, which is a multiple of n; `aligned` as the numbers are.
template <int n, class T>
DTYPECHECK_DEVICE void store_numbers_as(T* p, bool aligned, const float (&from)[n]) {
  constexpr int kAtOnce = n < kWide<T> ? n : kWide<T>;
  DTYPECHECK_UNROLL
  for (int first = 0; first < n; first += kAtOnce) {
    Pack<T, kAtOnce> pack;
    DTYPECHECK_UNROLL
    for (int k = 0; k < kAtOnce; ++k) assign(pack.at[k], from[first + k]);
    if (aligned) {
      store_pack<kAtOnce>(p + first, pack);
    } else {
      DTYPECHECK_UNROLL
      for (int k = 0; k < kAtOnce; ++k) p[first + k] = pack.at[k];
    }
  }
}
template <int n>
DTYPECHECK_DEVICE void store_numbers(Output y, bool aligned, int64_t i, const float (&from)[n]) {
  if (y.dtype == Dtype::kFloat)
    store_numbers_as(static_cast<float*>(y.data) + i, aligned, from);
  else if (y.dtype == Dtype::kHalf)
    store_numbers_as(static_cast<Half*>(y.data) + i, aligned, from);
  else
    store_numbers_as(static_cast<BFloat16*>(y.data) + i, aligned, from);
}

DTYPECHECK_DEVICE void store_number(Output y, int64_t i, float value) {
  if (y.dtype == Dtype::kFloat) assign(static_cast<float*>(y.data)[i], value);
  if (y.dtype == Dtype::kHalf) assign(static_cast<Half*>(y.data)[i], value);
  if (y.dtype == Dtype::kBFloat16) assign(static_cast<BFloat16*>(y.data)[i], value);
}

// use(T()) for the T of that dtype.
template <class Use>
void with_type(Dtype dtype, Use use) {
  if (dtype == Dtype::kFloat) use(float());
  if (dtype == Dtype::kHalf) use(Half());
  if (dtype == Dtype::kBFloat16) use(BFloat16());
}

// ---- sums

// Each of the 32 lanes gets it, and all the same bits: a + b is b + a.
template <class Number>
DTYPECHECK_DEVICE Number warp_sum(const Thread& t, Number value) {
  DTYPECHECK_UNROLL
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value += t.shuffle_xor(value, mask);
  return value;
}

}  // namespace dtypecheck::kernels::cuda
