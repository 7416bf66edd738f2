// follow.h: `report --follow`: what is found in a run while it goes on.
#pragma once

#include <string>
#include <vector>

#include "reports/judging/judged_report.h"

namespace dtypecheck::cli {

// Reads the traces whenever one has grown, and their headers every second, which the traced
// program does not notice, and writes each new finding as a line. A terminal at standard error has
// a line that says how far the run is. Comes back with the exit status once every process has
// ended.
int follow(const std::vector<std::string>& inputs, const judging::ReportOptions& options);

}  // namespace dtypecheck::cli
