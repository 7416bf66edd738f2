// bit_cast.h: std::bit_cast where libstdc++ has none yet. The headers of PyTorch 2.6 take it from
// any compiler of C++20, those before and after look whether it is there; libstdc++ has it since
// 11, and what is given away is built with that of GCC 10.
#pragma once
#include <bit>

#ifndef __cpp_lib_bit_cast
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
