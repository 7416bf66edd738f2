// text_operands.h: the operands of a finding's op call as a table for a terminal.
#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace dtypecheck::reports {

// Name, dtype, shape, parameter name and origin of each; ">" marks the odd one out. At most a few
// of a long list, the odd one always among them.
std::vector<std::string> operand_lines(const Report& report, const Finding& finding,
                                       const OpCall& call, size_t columns);

}  // namespace dtypecheck::reports
