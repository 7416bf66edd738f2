// meant_wraps.h: whole numbers that wrap around in NumPy, as a program means it: in hashes, random
// numbers and differences of bytes that are added up again. Asked of the run and of the text of the
// lines; where that is not known, nothing is meant.
#pragma once

#include "rules/engine/rule.h"

namespace dtypecheck::rules {

// True as well of a call below an installed package's line, whose authors know what they do.
bool wraps_as_meant(const RunIndex& index, const JudgeOptions& options, const OpCall& call);

}  // namespace dtypecheck::rules
