// json.h: for JSON that others wrote. Values are copied and destroyed by recursion, which a file of
// nothing but brackets would drive off the stack.
#pragma once

#include <nlohmann/json.hpp>

namespace dtypecheck {

inline constexpr int kMostJsonDepth = 64;  // a tokenizer.json is 7 deep

// A callback of parse(): what is nested deeper is left out, and whoever reads finds it missing.
inline bool is_shallow(int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
  return depth <= kMostJsonDepth;
}

}  // namespace dtypecheck
