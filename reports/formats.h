// formats.h: the writer of each format, for the list in report.cpp. Each is defined in <name>.cpp.
#pragma once

#include "reports/report.h"

namespace dtypecheck::reports {

void write_text(const Report& report, std::ostream& out);
void write_json(const Report& report, std::ostream& out);
void write_sarif(const Report& report, std::ostream& out);
void write_lines(const Report& report, std::ostream& out);
void write_github(const Report& report, std::ostream& out);
void write_junit(const Report& report, std::ostream& out);
void write_html(const Report& report, std::ostream& out);

}  // namespace dtypecheck::reports
