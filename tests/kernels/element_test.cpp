// Every Half and BFloat16 there is, and the Floats on and beside the borders where rounding turns.
#include "tests/kernels/numbers.h"

namespace dtypecheck::kernels {

// From the definition of the format: sign, exponent, fraction.
static double value_of(uint16_t bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits & 0x8000 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
}

struct Format {
  Dtype dtype;
  int exponent_bits, fraction_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);
};
static const Format kFormats[] = {{Dtype::kHalf, 5, 10, half_to_float, float_to_half},
                                  {Dtype::kBFloat16, 8, 7, bfloat16_to_float, float_to_bfloat16}};

TEST_CASE("every number of 16 bits is read as the format says, and written back as it was") {
  for (const Format& format : kFormats) {
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
      const double expected =
          value_of(static_cast<uint16_t>(bits), format.exponent_bits, format.fraction_bits);
      const float found = format.widen(static_cast<uint16_t>(bits));
      if (std::isnan(expected)) {
        if (!std::isnan(found) || !std::isnan(format.widen(format.narrow(found)))) FAIL(bits);
      } else if (found != expected || std::signbit(found) != std::signbit(expected) ||
                 format.narrow(found) != bits) {
        FAIL(dtype_name(format.dtype) << " " << bits << ": " << found << ", expected " << expected);
      }
    }
  }
}

TEST_CASE("between two numbers the nearer is written, in the middle the even one") {
  for (const Format& format : kFormats) {
    const unsigned largest = (((1u << format.exponent_bits) - 1) << format.fraction_bits) - 1;
    for (unsigned bits = 0; bits <= largest; ++bits) {
      const float low = format.widen(static_cast<uint16_t>(bits));
      // Past the largest number: where the next would be, had the format one more exponent.
      const double step = bits < largest
                              ? format.widen(static_cast<uint16_t>(bits + 1)) - double{low}
                              : low - double{format.widen(static_cast<uint16_t>(bits - 1))};
      const float middle = static_cast<float>(low + step / 2);
      const unsigned even = bits + (bits & 1);
      REQUIRE(format.narrow(std::nextafter(middle, 0.f)) == bits);
      REQUIRE(format.narrow(middle) == even);
      REQUIRE(format.narrow(-middle) == (even | 0x8000));
      REQUIRE(format.narrow(std::nextafter(middle, INFINITY)) == bits + 1);
    }
  }
}

TEST_CASE("arguments that no kernel could use are named") {
  using Catch::Matchers::Contains;
  const double number = 1;
  const auto* bytes = reinterpret_cast<const char*>(&number);
  CHECK_NOTHROW(require_numbers(Input{bytes + 2, Dtype::kHalf}, "op", "x", false));
  CHECK_NOTHROW(require_numbers(Input{}, "op", "x", true));
  CHECK_THROWS_WITH(require_numbers(Input{}, "op", "x", false), Contains("op: x is null"));
  CHECK_THROWS_WITH(require_numbers(Input{bytes, Dtype::kDouble}, "op", "x", false),
                    Contains("op: x is Double, expected Float, Half or BFloat16"));
  CHECK_THROWS_WITH(require_numbers(Input{bytes + 2, Dtype::kFloat}, "op", "x", false),
                    Contains("is not aligned to Float"));
  CHECK_NOTHROW(require_same_dtype(Dtype::kHalf, Dtype::kHalf, "op", "x and y"));
  CHECK_THROWS_WITH(require_same_dtype(Dtype::kHalf, Dtype::kFloat, "op", "x and y"),
                    Contains("op: x and y are Half and Float"));
}

}  // namespace dtypecheck::kernels
