// vanishing_number.h: a number that an op adds to each element, or compares it with, and that is 0
// in the dtype it is done in, an epsilon mostly; and a bound beside 1 that is 1 there.
#pragma once

#include <optional>

#include "core/op_call.h"

namespace dtypecheck::rules {

struct VanishingNumber {
  const ScalarArgument* scalar;
  const Operand* tensor;
  DtypeSet dtypes;
};

std::optional<VanishingNumber> vanishing_number(const OpCall& call);

// The bound of x.clamp(-1 + 1e-15, 1 - 1e-15) that is a whole number in the dtype of x, so that it
// lets that number through; null where there is none.
const ScalarArgument* lost_bound(const OpCall& call);

}  // namespace dtypecheck::rules
