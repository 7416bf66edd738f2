// cure.h: a change to the program that should make a finding go away, as data. A rule proposes
// cures, the likeliest first, and `dtypecheck cure` tries them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "core/op_call.h"

namespace dtypecheck {

enum class CureKind : uint8_t {
#define CURE_KIND(kind, name) kind,
#include "core/cure_kinds.inc"
#undef CURE_KIND
};
const char* cure_kind_name(CureKind kind);  // "cast operand", "open autocast", …

struct Cure {
  CureKind kind = CureKind::kCastOperand;
  Dtype dtype = Dtype::kUndefined;  // the wanted one
  OpCallId call = kNoOpCall;        // where it acts
  std::string operand;              // an operand of `call` or the path of a module; see the kinds
  SourceLine where;                 // the line to change; not known for some settings
  std::string text;                 // in words: "cast the target of mse_loss to Half, train.py:40"

  bool operator==(const Cure&) const = default;
};

}  // namespace dtypecheck
