// text_operands.h: the operands of a finding's op call as a table for a terminal.
#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace dtypecheck::reports {

// Name, dtype, shape, parameter name and origin of each; ">" marks the odd one out. At most a few
// of a long list, the odd one always among them. The odd one is what the advice is about, and
// stands before it; the columns are those of all.
struct OperandTable {
  std::vector<std::string> odd, others;
};
OperandTable operand_table(const Report& report, const Finding& finding, const OpCall& call,
                           size_t columns);

}  // namespace dtypecheck::reports
