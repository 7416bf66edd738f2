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
  kCastOperand = 0,  // cast `operand` of `call`, at the line of that call
  kCastResult,       // cast what `call` returns, at the line of that call
  kCastAndBack,      // cast `operand` for `call` alone, and what it gives back to what that was
  kCastModuleInput,  // cast what the module `operand` is called with, at the line that calls it
  kCastVariable,     // cast `operand` below the statement that binds it, for all that reads it
  kCastDrawn,        // the same of all that a loader or function gives with it in its dtype
  kCastParameters,   // load, make or cast the parameters of the module `operand` in `dtype`
  kOpenAutocast,     // put the line of `call` under torch.autocast in `dtype`
  kMoveAutocast,     // let the region that is open elsewhere take in the line of `call`
  kMasterWeights,    // give the optimizer Float parameters, and the forward pass autocast
  kSetting,          // change a setting of a framework: `operand` is the call with its keyword
  kRewrite,          // write the line's expression another way: `operand` says how
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
