// json.h: for JSON that others wrote. Values are copied and destroyed by recursion, which a file of
// nothing but brackets would drive off the stack.
#pragma once

#include <nlohmann/json.hpp>

namespace dtypecheck {

// A callback of parse(): what is nested deeper is left out, and whoever reads finds it missing.
inline bool is_shallow(int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
  constexpr int kMostDepth = 64;
  return depth <= kMostDepth;
}

}  // namespace dtypecheck
