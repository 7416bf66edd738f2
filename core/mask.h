// mask.h: the numbers by which masks say infinity: -1e9, 1e10. C++17 and plain, as core/codes.h is.
#pragma once

namespace dtypecheck {

inline constexpr double kMask = 1e8;  // what is larger is meant to be infinite

}  // namespace dtypecheck
