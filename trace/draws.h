// draws.h: the file "draws.<rank>" of a run's folder: the random numbers that ops drew on the CPU,
// in their order (trace --record-draws), for a run that is to draw the same (--replay).
//
//   8 bytes    "dtdraw 1"
//   then, of each draw, padded to 8 bytes:
//   uint64     key: a hash of the op's name and of the tensor's sizes
//   uint32     dtype, as LibTorch counts them
//   uint32     bytes of one number
//   uint64     how many numbers
//   …          the numbers, row by row
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace dtypecheck::trace {

constexpr char kDrawsMagic[] = "dtdraw 1";
constexpr size_t kDrawsMagicBytes = sizeof kDrawsMagic - 1;
constexpr uint64_t kMostDrawBytes = 64ull << 20;  // of a file

struct DrawHeader {
  uint64_t key;
  uint32_t dtype;
  uint32_t item_bytes;
  uint64_t count;
};
static_assert(sizeof(DrawHeader) == 24, "");

struct Draw {
  DrawHeader header;
  const char* numbers;  // in the file's bytes
};

inline uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }
inline std::string draws_file(int rank) { return "draws." + std::to_string(rank < 0 ? 0 : rank); }

// Trusts nothing in it: draws up to the first that is not whole; false where it is no such file.
inline bool parse_draws(const std::string& bytes, std::vector<Draw>* draws) {
  if (bytes.compare(0, kDrawsMagicBytes, kDrawsMagic) != 0) return false;
  for (size_t at = kDrawsMagicBytes; bytes.size() - at >= sizeof(DrawHeader);) {
    Draw draw{};
    std::memcpy(&draw.header, bytes.data() + at, sizeof draw.header);
    at += sizeof draw.header;
    const DrawHeader& header = draw.header;
    if (header.item_bytes == 0 || header.item_bytes > 16 || header.count > kMostDrawBytes) break;
    const uint64_t size = padded(header.count * header.item_bytes);
    if (size > bytes.size() - at) break;
    draw.numbers = bytes.data() + at;
    draws->push_back(draw);
    at += size;
  }
  return true;
}

}  // namespace dtypecheck::trace
