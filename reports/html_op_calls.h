// html_op_calls.h: all op calls as data for the page's script, which makes a table of them.
#pragma once

#include <string>

#include "reports/report.h"

namespace dtypecheck::reports {

// {"strings": […], "columns": […], "rows": [[…], …]}: a row is one signature, its texts are indices
// into strings, for they repeat much: 20,000 rows stay below 2 MB. Valid UTF-8, and printable.
std::string op_calls_json(const Report& report);

}  // namespace dtypecheck::reports
