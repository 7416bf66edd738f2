#include "core/cure.h"

namespace dtypecheck {

const char* cure_kind_name(CureKind kind) {
  switch (kind) {
#define CURE_KIND(kind, name) \
  case CureKind::kind:        \
    return name;
#include "core/cure_kinds.inc"
#undef CURE_KIND
  }
  return "setting";
}

}  // namespace dtypecheck
