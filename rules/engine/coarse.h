// coarse.h: a tensor in 16 bits that is known to have too few digits for what is computed of it.
#pragma once

#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

// What made the operand in 16 bits changed whole numbers, or the tracer found that an op's result
// is wrong because of it: what it meets must not be lowered to its dtype.
bool is_too_coarse(const RunIndex& index, const OpCall& call, const Operand& operand);

}  // namespace dtypecheck::rules
