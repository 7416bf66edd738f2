// html_findings.h: the findings as HTML, readable without a script.
#pragma once

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// A card for each cause, the cards of its consequences inside it. A page with thousands of findings
// would not open: after the first few hundred it says how many are left to the other formats.
void write_findings(const Report& report, HtmlWriter& html);

}  // namespace dtypecheck::reports
