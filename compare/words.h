// words.h: how a distance is said.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace dtypecheck::compare {

// "3.1 %", "0.002 %", "6e-06 %"; of what is no number in one run alone, words.
inline std::string percent(double distance) {
  if (std::isinf(distance)) return "not finite in one run alone";
  return distance < 0.1 ? fmt::format("{:.2g} %", distance * 100)
                        : fmt::format("{:.0f} %", distance * 100);
}

}  // namespace dtypecheck::compare
