#include "platform/utf8.h"

#include <utf8proc.h>

#include <algorithm>

namespace dtypecheck {

CodePoint code_point_at(std::string_view text, size_t at) {
  const auto* begin = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  if (*begin < 0x80) return {*begin, 1, true};
  utf8proc_int32_t value = 0;
  const utf8proc_ssize_t length =
      utf8proc_iterate(begin, static_cast<utf8proc_ssize_t>(text.size() - at), &value);
  if (length <= 0) return {*begin, 1, false};
  return {static_cast<uint32_t>(value), static_cast<size_t>(length), true};
}

size_t columns_of(uint32_t code_point) {
  if (code_point < 0x80) return 1;
  return static_cast<size_t>(
      std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(code_point))));
}

}  // namespace dtypecheck
