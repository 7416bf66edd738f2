// html_findings.h: the findings as HTML, readable without a script.
#pragma once

#include <string>

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

// The first causes in a line or two each, in the order in which to fix them, with links.
void write_causes(const Report& report, HtmlWriter& html);

// A card for each cause, the cards of its consequences inside it. A page with thousands of findings
// would not open: after the first few hundred it says how many are left to the other formats.
void write_findings(const Report& report, HtmlWriter& html);

// The id that a finding has in the page: for links.
std::string finding_anchor(const Report& report, const Finding& finding);

// Of a module in the map, as the page's script reads it behind '#'.
std::string module_link(const std::string& module);

// Which colour a dtype has, as a class of the style sheet.
const char* dtype_class(DtypeSet dtypes);

}  // namespace dtypecheck::reports
