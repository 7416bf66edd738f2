// rounding.h: what a number becomes in Half and BFloat16, exactly as the hardware rounds it (to
// nearest, ties to even). Standard library alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtypecheck::rules {

// A binary format with `digits` bits of significand, the hidden one included, whose smallest normal
// number is 2^min_exponent and whose largest is (2 - 2^(1 - digits)) * 2^max_exponent.
struct FloatFormat {
  int digits;
  int min_exponent;
  int max_exponent;
};
inline constexpr FloatFormat kHalfFormat = {11, -14, 15};
inline constexpr FloatFormat kBFloat16Format = {8, -126, 127};

// Each finite multiple of the spacing of `format` around |value| is exact in double, so one
// rounding to an integer multiple (std::nearbyint: ties to even) is the whole conversion.
inline double round_to(FloatFormat format, double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), format.min_exponent);
  const int spacing = exponent - (format.digits - 1);  // log2 of the gap between neighbours
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -spacing)), spacing);
  const bool overflows = std::fabs(rounded) >= std::ldexp(1.0, format.max_exponent + 1);
  return overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

inline double round_to_half(double value) { return round_to(kHalfFormat, value); }
inline double round_to_bfloat16(double value) { return round_to(kBFloat16Format, value); }

}  // namespace dtypecheck::rules
