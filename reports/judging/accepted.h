// accepted.h: findings that are not reported because somebody wrote down why they are fine: in a
// suppression file, in the project's configuration, or in a comment on the line. What was left out
// is said in the report's remarks.
#pragma once

#include <functional>
#include <string>

#include "analyzer/allowed.h"
#include "reports/report.h"

namespace dtypecheck::judging {

// "2 findings accepted by train.py; --all shows them"; nothing for none.
void say_accepted(reports::Report& report, size_t dropped, const std::string& by);

void drop_accepted_by_file(reports::Report& report, const std::string& path);
void drop_accepted_by_config(reports::Report& report);

// The faults of allow() comments that accept nothing; `place` names one of their lines.
void say_faulty(reports::Report& report, const analyzer::Allowances& comments,
                const std::function<std::string(int)>& place);

// Of a recorded run: "# dtypecheck: allow(rule): reason" on the finding's line, or on one of its
// own above it, as the report quotes them.
void drop_allowed_on_lines(reports::Report& report);

}  // namespace dtypecheck::judging
