// junit.cpp: the XML that CI servers show as tests (Jenkins' schema: a suite of cases, each with a
// failure or an error or nothing). A finding is a case that fails, or passes where it is below the
// level that fails the command; one case more, "traced in full", is there in every report, so that
// a clean run shows as a test that passed and an incomplete one as an error.
#include <fmt/format.h>

#include <ostream>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/html_writer.h"
#include "reports/report.h"
#include "reports/summary.h"
#include "reports/text_finding.h"

namespace dtypecheck::reports {

namespace {

std::string escaped(const std::string& text) { return escape_html(printable(text)); }

bool fails(const Report& report, const Finding& finding) {
  return report.fail_level && finding.severity >= *report.fail_level;
}

void write_case(const Report& report, const Finding& finding, std::ostream& out) {
  const std::string where = place(finding.site.line);
  std::string full;
  for (const std::string& line : full_finding(report, finding, {})) full += line + "\n";
  const SourceLine& line = finding.site.line;
  out << fmt::format("  <testcase classname=\"{}\" name=\"{}\"", escaped(finding.rule),
                     escaped(where.empty() ? finding.message : where + " " + finding.message));
  if (line.known())
    out << fmt::format(" file=\"{}\"", escaped(path_below(report.base_folder, line.file)));
  if (line.known() && line.line > 0) out << fmt::format(" line=\"{}\"", line.line);
  out << ">\n";
  if (fails(report, finding)) {
    out << fmt::format("   <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                       escaped(finding.rule), escaped(finding.message), escape_html(full));
  } else {
    out << fmt::format("   <system-out>{}</system-out>\n", escape_html(full));
  }
  out << "  </testcase>\n";
}

void write_completeness(const Report& report, std::ostream& out) {
  std::string said;
  for (const std::string& caveat : caveats(report)) said += caveat + "\n";
  out << fmt::format("  <testcase classname=\"dtypecheck\" name=\"{} in full\">\n",
                     report.scan ? "analysed" : "traced");
  if (!report.complete()) {
    out << fmt::format(
        "   <error type=\"incomplete\" message=\"the report is not complete\">{}"
        "</error>\n",
        escape_html(said));
  } else {
    out << fmt::format("   <system-out>{}</system-out>\n",
                       escape_html(said + headline(report) + "\n"));
  }
  out << "  </testcase>\n";
}

}  // namespace

void write_junit(const Report& report, std::ostream& out) {
  size_t failures = 0;
  for (const Finding& finding : report.findings) failures += fails(report, finding);
  const std::string counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", report.findings.size() + 1,
                  failures, report.complete() ? 0 : 1);
  out << fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n"
      " <testsuite name=\"dtypecheck\" {0} skipped=\"0\">\n",
      counts);
  for (const Finding& finding : report.findings) write_case(report, finding, out);
  write_completeness(report, out);
  out << " </testsuite>\n</testsuites>\n";
}

}  // namespace dtypecheck::reports
