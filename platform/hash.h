// hash.h: FNV-1a of 64 bits, the one hash of texts here: ids of findings, names in caches, keys in
// the tracer. What is stored by it is found again by a later version, so its numbers never change.
//
// C as well as C++17: stage 1 of the tracer is C, stage 2 is compiled as its LibTorch asks for.
#pragma once

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#include <string_view>
#define DTYPECHECK_CONSTEXPR constexpr
namespace dtypecheck {
#else
#include <stddef.h>
#include <stdint.h>
#define DTYPECHECK_CONSTEXPR static inline
#endif

#define DTYPECHECK_FNV1A_BASIS 0xcbf29ce484222325ULL

// `hash` is the basis, or the hash of what stands before the text.
DTYPECHECK_CONSTEXPR uint64_t fnv1a_of_bytes(const char* text, size_t size_bytes, uint64_t hash) {
  for (size_t i = 0; i < size_bytes; ++i) {
    hash ^= text[i] & 0xffu;
    hash *= 0x100000001b3ULL;
  }
  return hash;
}

#undef DTYPECHECK_CONSTEXPR
#ifdef __cplusplus

constexpr uint64_t fnv1a(std::string_view text, uint64_t hash = DTYPECHECK_FNV1A_BASIS) {
  return fnv1a_of_bytes(text.data(), text.size(), hash);
}

// One more field behind those of `hash`, distinguished from them: "ab","c" is not "a","bc".
constexpr uint64_t fnv1a_next(std::string_view field, uint64_t hash) {
  return fnv1a(field, fnv1a("\n", hash));
}

}  // namespace dtypecheck
#endif
