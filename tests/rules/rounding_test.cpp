// round_to_half and round_to_bfloat16 against the values that IEEE 754 gives, and exhaustively:
// each number of a format is kept, and each half-way point goes to the even neighbour.
#include "rules/engine/rounding.h"

#include <catch2/catch.hpp>
#include <cstdint>

using namespace dtypecheck::rules;

namespace {

// The value of a 16-bit pattern, read digit by digit: the dumbest decoder there is.
double decode(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == 0) return std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
}

void check_all(double (*round)(double), int exponent_bits, int mantissa_bits) {
  const uint16_t last = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits) - 1;
  int wrong = 0;
  for (uint16_t bits = 0; bits < last; ++bits) {
    const double low = decode(bits, exponent_bits, mantissa_bits);
    const double high = decode(bits + 1, exponent_bits, mantissa_bits);
    const double middle = low + (high - low) / 2;
    wrong += round(low) != low;
    wrong += round(-low) != -low;
    wrong += round(middle) != (bits % 2 == 0 ? low : high);
    wrong += round(std::nextafter(middle, 0)) != low;
    wrong += round(std::nextafter(middle, high)) != high;
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every Half, and every half-way point between two") { check_all(round_to_half, 5, 10); }
TEST_CASE("every BFloat16, and every half-way point between two") {
  check_all(round_to_bfloat16, 8, 7);
}

TEST_CASE("the numbers that people meet") {
  CHECK(round_to_half(1e-8) == 0);  // AdamW's eps
  CHECK(round_to_half(-1e-8) == 0);
  CHECK(round_to_half(3e-8) == std::ldexp(1, -24));
  CHECK(round_to_half(std::ldexp(1, -25)) == 0);  // half of the smallest: a tie, to even
  CHECK(round_to_half(65504) == 65504);
  CHECK(round_to_half(65519) == 65504);
  CHECK(std::isinf(round_to_half(65520)));
  CHECK(round_to_half(2049) == 2048);
  CHECK(round_to_bfloat16(1e-8) != 0);
  CHECK(round_to_bfloat16(257) == 256);
  CHECK(round_to_bfloat16(1365) == 1368);
  CHECK(round_to_bfloat16(1025) == 1024);
  CHECK(std::isnan(round_to_half(std::nan(""))));
  CHECK(round_to_half(-INFINITY) == -INFINITY);
}
