// html_health.h: the map of the run's health (trace --health): a row a module, a line over the
// steps for each kind of its numbers.
#pragma once

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

void write_health(const Report& report, HtmlWriter& html);

}  // namespace dtypecheck::reports
