// html_steps.h: what ran in which step, by phase: where something new appeared, and where it
// failed.
#pragma once

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// A table that the style sheet makes a strip of; long runs have several steps in a column. A trace
// has no time of a step: what it knows is the first and last one of each op call.
void write_steps(const Report& report, HtmlWriter& html);

}  // namespace dtypecheck::reports
