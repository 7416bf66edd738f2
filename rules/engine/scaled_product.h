// scaled_product.h: which operand of a product in 8 or 4 bits was refused for its dtype:
// _scaled_mm, _scaled_mm_v2 and _scaled_grouped_mm ask for dtypes, shapes and layouts, often in one
// sentence.
#pragma once

#include <optional>

#include "core/op_call.h"

namespace dtypecheck::rules {

struct ScaledFault {
  enum class Kind { kScale, kBias, kOffset, kFactor };
  Kind kind;
  const Operand* odd;
  DtypeSet wanted;  // none: with this result the operand is not taken at all
};

// None where the dtypes are right. A call without an error is one that is foretold.
std::optional<ScaledFault> scaled_fault(const OpCall& call);

}  // namespace dtypecheck::rules
