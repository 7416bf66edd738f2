// op_fixes.h: the edit that cures an op of source: a cast of one operand, in the line of the call.
#pragma once

#include "analyzer/facts.h"
#include "core/finding.h"

namespace dtypecheck::analyzer {

// Where the finding's first cure casts an operand that is an argument on the line of the call: the
// dtype that its text ends in is replaced, or `.to(…)` written behind it: to the dtype of the
// module that it meets, where that is `is_in_reach`, else to a constant. Nothing is added where the
// text stands there twice, or not as it is known.
void add_options(Finding& finding, const SourceOp& op);
void add_cast(Finding& finding, const SourceOp& op, bool is_in_reach);

}  // namespace dtypecheck::analyzer
