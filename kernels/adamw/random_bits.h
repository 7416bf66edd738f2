// random_bits.h: a counter-based generator: the bits of number i of step s are a function of the
// seed, s and i alone, however the work is split. 64-bit keys by SplitMix64's finalizer (Steele et
// al. 2014), 32-bit words by MurmurHash3's (Appleby), twice, with half of the key before each.
#pragma once

#include <cstdint>

namespace dtypecheck::kernels {

constexpr uint64_t mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// The key of numbers i with i >> 32 == upper.
constexpr uint64_t random_key(uint64_t seed, int64_t step, uint64_t upper) {
  return mix64(mix64(mix64(seed) + static_cast<uint64_t>(step)) + upper);
}

inline constexpr uint32_t kMurmurMultiplier1 = 0x85ebca6b, kMurmurMultiplier2 = 0xc2b2ae35;

constexpr uint32_t mix32(uint32_t x) {
  x = (x ^ x >> 16) * kMurmurMultiplier1;
  x = (x ^ x >> 13) * kMurmurMultiplier2;
  return x ^ x >> 16;
}

// `lower`: the lower 32 bits of i.
constexpr uint32_t random_bits(uint64_t key, uint32_t lower) {
  const uint32_t once = mix32(lower ^ static_cast<uint32_t>(key));
  return mix32(once ^ static_cast<uint32_t>(key >> 32));
}

}  // namespace dtypecheck::kernels
