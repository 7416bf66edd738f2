#include "core/site.h"

namespace dtypecheck {

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::kUnknown:
      return "unknown";
    case Phase::kLoad:
      return "load";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kData:
      return "data";
  }
  return "unknown";
}

}  // namespace dtypecheck
