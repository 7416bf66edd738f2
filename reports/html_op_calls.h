// html_op_calls.h: all op calls: the first ones as a table that needs no script, and all as data
// for the page's script, which puts a table of its own in the place of that one.
#pragma once

#include <string>

#include "reports/html_writer.h"
#include "reports/report.h"

namespace dtypecheck::reports {

void write_op_call_rows(const Report& report, HtmlWriter& html);

// {"size": rows, "strings": […], "columns": {name: […] or one number for all}, "classes": {dtype:
// class}}: a row is one signature, its texts are indices into strings, for they repeat much. Valid
// UTF-8, and printable.
std::string op_calls_json(const Report& report);

}  // namespace dtypecheck::reports
