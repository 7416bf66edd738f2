// element.h: numbers of some dtype behind a raw pointer, one at a time. What is slow and plain here
// is what the references are written with, and what the variants are held to, bit for bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "core/dtype.h"
#include "platform/error.h"

namespace dtypecheck::kernels {

// std::bit_cast, which the libstdc++ of GCC 10 has not.
template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}

// Contiguous numbers in Float, Half or BFloat16, aligned to their own size. data is null where an
// operation may do without.
struct Input {
  const void* data = nullptr;
  Dtype dtype = Dtype::kFloat;
};
struct Output {
  void* data = nullptr;
  Dtype dtype = Dtype::kFloat;
};

// Exact: every Half is a Float.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16, magnitude = half & 0x7fffu;
  if (magnitude >= 0x7c00) return bit_cast<float>(sign | 0x7f800000 | magnitude << 13);
  const float value = magnitude < 0x400 ? std::ldexp(static_cast<float>(magnitude), -24)
                                        : bit_cast<float>((magnitude << 13) + ((127u - 15) << 23));
  return sign ? -value : value;
}

// To nearest, ties to even; what lies past 65504 by half a step or more is infinite.
inline uint16_t float_to_half(float value) {
  const uint16_t sign = static_cast<uint16_t>(bit_cast<uint32_t>(value) >> 16 & 0x8000);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  // Half a step of Half is added in units of its last place; below 2^-14 the steps stay 2^-24.
  const int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
  const float steps = std::nearbyint(std::ldexp(magnitude, 10 - exponent));
  return static_cast<uint16_t>(sign + ((exponent + 14) << 10) + static_cast<int>(steps));
}

inline float bfloat16_to_float(uint16_t value) { return bit_cast<float>(uint32_t{value} << 16); }

// To nearest, ties to even.
inline uint16_t float_to_bfloat16(float value) {
  if (std::isnan(value)) return 0x7fc0;
  const uint32_t bits = bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float load(Input x, int64_t i) {
  if (x.dtype == Dtype::kFloat) return static_cast<const float*>(x.data)[i];
  const uint16_t bits = static_cast<const uint16_t*>(x.data)[i];
  return x.dtype == Dtype::kHalf ? half_to_float(bits) : bfloat16_to_float(bits);
}

inline float load_or(Input x, int64_t i, float otherwise) {
  return x.data ? load(x, i) : otherwise;
}

inline void store(Output y, int64_t i, float value) {
  if (y.dtype == Dtype::kFloat) {
    static_cast<float*>(y.data)[i] = value;
  } else {
    static_cast<uint16_t*>(y.data)[i] =
        y.dtype == Dtype::kHalf ? float_to_half(value) : float_to_bfloat16(value);
  }
}

// The numbers from the i-th on; null stays null.
inline Input from(Input x, int64_t i) {
  const int64_t size = x.dtype == Dtype::kFloat ? 4 : 2;
  return {x.data ? static_cast<const char*>(x.data) + i * size : nullptr, x.dtype};
}
inline Output from(Output y, int64_t i) {
  const int64_t size = y.dtype == Dtype::kFloat ? 4 : 2;
  return {y.data ? static_cast<char*>(y.data) + i * size : nullptr, y.dtype};
}

// How images lie in memory.
enum class Layout { kChannelsFirst /* NCHW */, kChannelsLast /* NHWC */ };

// What the operations ask before they start: throw an InputError that names the operation and the
// argument.
void require(bool holds, std::string_view operation, std::string_view expected);
// A pointer, a dtype of the three, and alignment to it; null only where `optional`.
void require_numbers(Input x, std::string_view operation, std::string_view argument, bool optional);
void require_numbers(Output y, std::string_view operation, std::string_view argument,
                     bool optional);
void require_eps(double eps, std::string_view operation);
void require_same_dtype(Dtype a, Dtype b, std::string_view operation, std::string_view arguments);

}  // namespace dtypecheck::kernels
