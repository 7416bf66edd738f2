// op_refusals.h: which ops that source calls are refused, where not all dtypes are known.
#pragma once

#include <optional>
#include <string>

#include "analyzer/facts.h"
#include "core/op_call.h"

namespace dtypecheck::analyzer {

// A call that is refused for the operands whose dtypes are known: index_select() with an index in
// Float, a layer that is given Long.
struct OpRefusal {
  OpCall call;  // operands that are not known have one of the dtypes that they may have
  std::string error;
  std::string error_type;
};

// Nothing where some dtype of the unknown operands is taken, on the CPU or on CUDA; where the
// tables do not know that; and where no other dtype of the known ones would be taken either, since
// the reason is none of theirs then. Of `libtorch`; of the newest where it was not measured.
std::optional<OpRefusal> refusal_of(const SourceOp& op, const std::string& libtorch = "");

}  // namespace dtypecheck::analyzer
