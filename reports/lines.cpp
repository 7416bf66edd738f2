// lines.cpp: a line a finding, "file:line: severity: message [rule]", which is what compilers write
// and what editors and bots that comment on reviews read. A finding without a place, and what
// limits the report, stand behind the name of the tool instead of one, as GCC's "cc1plus: error: …"
// does.
#include "reports/lines.h"

#include <fmt/format.h>

#include <ostream>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/report.h"
#include "reports/summary.h"

namespace dtypecheck::reports {

static std::string where(const SourceLine& line) {
  return line.known() ? place(line) : "dtypecheck";
}

std::string line_of(const Finding& finding) {
  return fmt::format("{}: {}: {} [{}]", where(finding.site.line), severity_name(finding.severity),
                     printable(finding.message), printable(finding.rule));
}

void write_lines(const Report& report, std::ostream& out) {
  for (const Finding& finding : report.findings) {
    out << line_of(finding) << '\n';
    for (const NotedPlace& noted : finding.places) {
      out << fmt::format("{}: note: {}\n", where(noted.line), printable(noted.note));
    }
  }
  for (const std::string& caveat : caveats(report)) {
    out << fmt::format("dtypecheck: {}: {}\n", report.complete() ? "note" : "warning", caveat);
  }
}

}  // namespace dtypecheck::reports
