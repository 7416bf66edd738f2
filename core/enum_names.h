// enum_names.h: what the values of an enum are called.
#pragma once

#include <cstddef>

namespace dtypecheck {

// The names are in the order of the values, which begin at 0 and go up to `last`. A value of none
// of them, from a file, say, has the name of the first.
template <auto last, size_t count>
constexpr const char* name_of(decltype(last) value, const char* const (&&names)[count]) {
  static_assert(count == static_cast<size_t>(last) + 1, "a name for each value");
  return names[value <= last ? static_cast<size_t>(value) : 0];
}

}  // namespace dtypecheck
