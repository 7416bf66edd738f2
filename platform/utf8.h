// utf8.h: characters of a text that need not be UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dtypecheck {

struct CodePoint {
  uint32_t value = 0;
  size_t length = 1;   // bytes
  bool valid = false;  // false: one byte that is no UTF-8, and its value
};

// The character that begins at `at`, which is within the text. Strict: overlong forms, surrogates
// and values above U+10FFFF are not UTF-8.
CodePoint code_point_at(std::string_view text, size_t at);

// How many units of UTF-16 the text has in which editors and SARIF count; a character counts with
// its first byte, so that a part of one may be left out.
constexpr int utf16_units(std::string_view text) {
  int units = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
  }
  return units;
}

// Columns of a terminal: 0 for what combines with the character before it, 2 for East Asian wide
// ones.
size_t columns_of(uint32_t code_point);

}  // namespace dtypecheck
