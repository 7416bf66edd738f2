#include "core/cure.h"

namespace dtypecheck {

const char* cure_kind_name(CureKind kind) {
  switch (kind) {
    case CureKind::kCastOperand:
      return "cast operand";
    case CureKind::kCastResult:
      return "cast result";
    case CureKind::kCastAndBack:
      return "cast and back";
    case CureKind::kCastVariable:
      return "cast variable";
    case CureKind::kCastDrawn:
      return "cast drawn";
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
    case CureKind::kRewrite:
      return "rewrite";
  }
  return "setting";
}

}  // namespace dtypecheck
