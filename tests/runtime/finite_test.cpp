// NaN and inf of every dtype that has them, and the largest numbers beside them.
#include "runtime/finite.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <vector>

namespace dtypecheck::runtime {

// `count` zeros, and `bits` in one of them; one byte off, as a file may have it.
template <class Bits>
static std::optional<size_t> first_in(Dtype dtype, Bits bits, size_t count, size_t at) {
  std::vector<std::byte> bytes(1 + count * sizeof(Bits));
  std::memcpy(bytes.data() + 1 + at * sizeof(Bits), &bits, sizeof bits);
  return first_non_finite({"w", dtype, {}, std::span(bytes).subspan(1)});
}

template <class Bits>
static void check(Dtype dtype, std::vector<Bits> bad, std::vector<Bits> good) {
  for (const size_t at : {0, 1, 511, 512, 4095, 4096, 8999}) {
    for (const Bits bits : bad) CHECK(first_in(dtype, bits, 9000, at) == at);
  }
  for (const Bits bits : good) CHECK(first_in(dtype, bits, 9000, 5000) == std::nullopt);
}

TEST_CASE("NaN and inf are found where they are") {
  check<uint64_t>(Dtype::kDouble, {0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000},
                  {0x7fefffffffffffff, 1});
  check<uint32_t>(Dtype::kFloat, {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001},
                  {0x7f7fffff, 0xff7fffff, 1});
  check<uint16_t>(Dtype::kHalf, {0x7c00, 0xfc00, 0x7e00}, {0x7bff, 0xfbff, 1});
  check<uint16_t>(Dtype::kBFloat16, {0x7f80, 0xff80, 0x7fc0}, {0x7f7f, 0xff7f, 1});
  check<uint8_t>(Dtype::kFloat8_e5m2, {0x7c, 0xfc, 0x7e}, {0x7b, 0xfb, 1});
  check<uint8_t>(Dtype::kFloat8_e4m3fn, {0x7f, 0xff}, {0x7e, 0xfe, 1});
}

TEST_CASE("whole numbers are finite, and so is nothing") {
  CHECK(first_in<uint32_t>(Dtype::kInt, 0x7f800000, 4, 2) == std::nullopt);
  CHECK(first_non_finite({"w", Dtype::kFloat, {0}, {}}) == std::nullopt);
}

}  // namespace dtypecheck::runtime
