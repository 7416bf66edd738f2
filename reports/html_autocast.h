// html_autocast.h: what autocast cast, by line, and what it decided for which op.
#pragma once

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// Nothing where autocast neither cast nor decided anything.
void write_autocast(const Report& report, HtmlWriter& html);

}  // namespace dtypecheck::reports
