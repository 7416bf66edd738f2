// html_autocast.h: what autocast decided for which op.
#pragma once

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// Nothing where autocast decided nothing.
void write_autocast(const Report& report, HtmlWriter& html);

}  // namespace dtypecheck::reports
