// cast_table.h: what the casts of a step cost, and where they are, as a table for people.
#pragma once

#include <string>
#include <vector>

#include "core/cast_bill.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// A heading and a line for each place, most bytes first. Empty where the program asked for every
// cast of its steps, and they cost next to nothing.
std::vector<std::string> cast_table(const Report& report);
// Its heading alone.
std::vector<std::string> cast_sum(const Report& report);

std::string casts_a_step(double casts);  // "14 casts a step"
// "14 casts a step move 5.1 MB, 0.90 ms of the CPU (2.0 % of the run)".
std::string bill_text(const CastBill& bill);
// "autocast 12, asked 2"; of one reason "all for autocast".
std::string reasons_text(const CastBill& bill);

}  // namespace dtypecheck::reports
