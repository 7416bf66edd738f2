// autocast_table.h: where autocast cast, and what that cost, as a table for people.
#pragma once

#include <string>
#include <vector>

#include "reports/report.h"

namespace dtypecheck::reports {

// A heading and a line for each place, most bytes first; empty when autocast cast nothing.
std::vector<std::string> autocast_table(const Report& report);

}  // namespace dtypecheck::reports
