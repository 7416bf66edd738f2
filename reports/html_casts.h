// html_casts.h: the cast bill: what the casts of a step cost, by line and by module, and whose they
// are.
#pragma once

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// Nothing where nothing was cast.
void write_casts(const Report& report, HtmlWriter& html);

}  // namespace dtypecheck::reports
