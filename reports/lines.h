// lines.h: a finding in one line, as compilers write it: "train.py:91: warning: … [rule]".
#pragma once

#include <string>

#include "reports/report.h"

namespace dtypecheck::reports {

std::string line_of(const Finding& finding);  // without the line's end

}  // namespace dtypecheck::reports
