// cases.h: the runs that reports are tested on: a trace in examples/cases/<name>.trace, and
// findings made here, so that no wording of a rule can change a report's golden.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "reports/report.h"
#include "trace/text.h"

namespace dtypecheck::reports {

struct Case {
  std::string name;
  std::unique_ptr<Run> run;  // outlives the report, which refers to it
  std::unique_ptr<Report> report;
};

std::vector<std::string> case_names();
Case load_case(const std::string& name);

// A trainer's run with that many signatures, and one finding for each thousand.
Case large_case(size_t signatures);

std::string written(const Report& report, const std::string& format);

}  // namespace dtypecheck::reports
