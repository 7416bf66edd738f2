// crc32c.h: CRC-32C (Castagnoli; RFC 3720, appendix B.4), the checksum of what trace files hold. By
// the processor's own instruction where it has one (SSE 4.2; ARMv8 with CRC), eight bytes at a
// time, else by a table.
//
// C++17 and the C library alone: stage 2 of the tracer is compiled with it.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

namespace dtypecheck {

struct Crc32cTable {
  uint32_t of_byte[256];

  constexpr Crc32cTable() : of_byte() {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t crc = byte;
      for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
      of_byte[byte] = crc;
    }
  }
};
inline constexpr Crc32cTable kCrc32cTable;

inline uint32_t crc32c_by_table(const char* data, size_t size_bytes, uint32_t crc) {
  for (size_t i = 0; i < size_bytes; ++i)
    crc = crc >> 8 ^ kCrc32cTable.of_byte[(crc ^ static_cast<unsigned char>(data[i])) & 0xff];
  return crc;
}

#if defined(__x86_64__)

inline bool has_crc32c_instruction() { return __builtin_cpu_supports("sse4.2"); }

__attribute__((target("sse4.2"))) inline uint32_t crc32c_by_instruction(const char* data,
                                                                        size_t size_bytes,
                                                                        uint32_t crc) {
  uint64_t wide = crc;
  for (; size_bytes >= 8; data += 8, size_bytes -= 8) {
    uint64_t word;
    memcpy(&word, data, sizeof word);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  crc = static_cast<uint32_t>(wide);
  for (; size_bytes > 0; ++data, --size_bytes)
    crc = __builtin_ia32_crc32qi(crc, static_cast<unsigned char>(*data));
  return crc;
}

#elif defined(__aarch64__)

inline bool has_crc32c_instruction() {
  constexpr unsigned long kCrc32 = 1ul << 7;  // HWCAP_CRC32
  return getauxval(AT_HWCAP) & kCrc32;
}

inline uint32_t crc32c_by_instruction(const char* data, size_t size_bytes, uint32_t crc) {
  for (; size_bytes >= 8; data += 8, size_bytes -= 8) {
    uint64_t word;
    memcpy(&word, data, sizeof word);
    asm(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(word));
  }
  for (; size_bytes > 0; ++data, --size_bytes) {
    const uint32_t byte = static_cast<unsigned char>(*data);
    asm(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(byte));
  }
  return crc;
}

#else

inline bool has_crc32c_instruction() { return false; }
inline uint32_t crc32c_by_instruction(const char* data, size_t size_bytes, uint32_t crc) {
  return crc32c_by_table(data, size_bytes, crc);
}

#endif

// `before` is the checksum of what stands before these bytes; 0 for nothing.
inline uint32_t crc32c(const void* data, size_t size_bytes, uint32_t before = 0) {
  static const bool has_instruction = has_crc32c_instruction();
  const char* bytes = static_cast<const char*>(data);
  return ~(has_instruction ? crc32c_by_instruction(bytes, size_bytes, ~before)
                           : crc32c_by_table(bytes, size_bytes, ~before));
}

}  // namespace dtypecheck
