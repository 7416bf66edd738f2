// vanishing_number.h: a number that an op adds to each element, or compares it with, and that is 0
// in the dtype it is done in: an epsilon mostly.
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

}  // namespace dtypecheck::rules
