// cure.h: a change to the program that should make a finding go away, as data. A rule proposes
// cures, a replay of the run's op calls judges them, and `dtypecheck cure` tries them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/codes.h"
#include "core/op_call.h"

namespace dtypecheck {

enum class CureKind : uint8_t {
  kCastOperand = 0,    // cast `operand` of `call`, at the line of that call
  kCastResult,         // cast what `call` returns, at the line of that call
  kCastModuleInput,    // cast what the module `operand` is called with, at the line that calls it
  kCastParameters,     // load, make or cast the parameters of the module `operand` in `dtype`
  kOpenAutocast,       // put the line of `call` under torch.autocast in `dtype`
  kMoveAutocast,       // let the region that is open elsewhere take in the line of `call`
  kMasterWeights,      // give the optimizer Float parameters, and the forward pass autocast
  kSetting,            // change a setting of a framework that is in the process, or an argument
};
const char* cure_kind_name(CureKind kind);  // "cast operand", "open autocast", …

enum class CureVerdict : uint8_t {
  kUnchecked = 0,  // nothing was found out: the contracts do not know the op, say
  kHolds,          // no op of the recorded run would refuse, and nothing is left mixed
  kHoldsSoFar,     // the same, of a run that died where the cure acts: what follows is not known
  kFails,          // `reason` says which op would refuse, or what else is wrong with it
};
const char* cure_verdict_name(CureVerdict verdict);  // "unchecked", "holds", …

struct Cure {
  CureKind kind = CureKind::kCastOperand;
  Dtype dtype = Dtype::kUndefined;  // the wanted one
  OpCallId call = kNoOpCall;        // where it acts
  std::string operand;              // an operand of `call` or the path of a module; see the kinds
  SourceLine where;                 // the line to change; not known for some settings
  // What to write there in the program's language, with the names that the line has:
  // "latents.to(unet.dtype)", `with torch.autocast("cpu", dtype=torch.bfloat16):`.
  std::string code;
  // What stands on that line and `code` takes the place of, once on it; empty where `code` is a
  // line of its own, or the line does not tell.
  std::string replaces;
  // The sentence for people, the code in it: "cast the latents, train.py:40: latents.half()".
  std::string text;
  CureVerdict verdict = CureVerdict::kUnchecked;
  std::string reason;

  bool operator==(const Cure&) const = default;
};

}  // namespace dtypecheck
