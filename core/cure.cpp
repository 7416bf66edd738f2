#include "core/cure.h"

namespace dtypecheck {

const char* cure_kind_name(CureKind kind) {
  switch (kind) {
    case CureKind::kCastOperand:
      return "cast operand";
    case CureKind::kCastResult:
      return "cast result";
    case CureKind::kCastModuleInput:
      return "cast module input";
    case CureKind::kCastParameters:
      return "cast parameters";
    case CureKind::kOpenAutocast:
      return "open autocast";
    case CureKind::kMoveAutocast:
      return "move autocast";
    case CureKind::kMasterWeights:
      return "master weights";
    case CureKind::kSetting:
      return "setting";
  }
  return "setting";
}

const char* cure_verdict_name(CureVerdict verdict) {
  switch (verdict) {
    case CureVerdict::kUnchecked:
      return "unchecked";
    case CureVerdict::kHolds:
      return "holds";
    case CureVerdict::kHoldsSoFar:
      return "holds as far as the run got";
    case CureVerdict::kFails:
      return "fails";
  }
  return "unchecked";
}

}  // namespace dtypecheck
