#include "runtime/finite.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace dtypecheck::runtime {

// A number is NaN or inf where all bits of `mask` are set. By blocks, which are copied as they need
// not be aligned, and in which the compiler finds no branch.
template <class Bits>
static std::optional<size_t> first_with(std::span<const std::byte> bytes, Bits mask) {
  static constexpr size_t kBlock = 4096 / sizeof(Bits);
  const size_t count = bytes.size() / sizeof(Bits);
  Bits block[kBlock];
  const auto is_bad = [&](Bits bits) { return (bits & mask) == mask; };
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t n = std::min(kBlock, count - first);
    std::memcpy(block, bytes.data() + first * sizeof(Bits), n * sizeof(Bits));
    bool any = false;
    for (size_t i = 0; i < n; ++i) any |= is_bad(block[i]);
    if (any) return first + static_cast<size_t>(std::find_if(block, block + n, is_bad) - block);
  }
  return std::nullopt;
}

std::optional<size_t> first_non_finite(const StoredTensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::kDouble:
      return first_with<uint64_t>(tensor.bytes, 0x7ff0000000000000);
    case Dtype::kFloat:
      return first_with<uint32_t>(tensor.bytes, 0x7f800000);
    case Dtype::kHalf:
      return first_with<uint16_t>(tensor.bytes, 0x7c00);
    case Dtype::kBFloat16:
      return first_with<uint16_t>(tensor.bytes, 0x7f80);
    case Dtype::kFloat8_e5m2:
      return first_with<uint8_t>(tensor.bytes, 0x7c);
    case Dtype::kFloat8_e4m3fn:  // has no inf, and one NaN
      return first_with<uint8_t>(tensor.bytes, 0x7f);
    default:
      return std::nullopt;
  }
}

}  // namespace dtypecheck::runtime
