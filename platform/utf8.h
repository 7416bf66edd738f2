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

// Columns of a terminal: 0 for what combines with the character before it, 2 for East Asian wide
// ones.
size_t columns_of(uint32_t code_point);

}  // namespace dtypecheck
