#include "reports/report.h"

#include <algorithm>

#include "reports/formats.h"

namespace dtypecheck::reports {

bool Report::complete() const {
  return left_out.empty() && std::all_of(run.processes.begin(), run.processes.end(),
                                         [](const Process& p) { return p.complete(); });
}

bool Report::results_valid() const {
  return std::none_of(run.calls.begin(), run.calls.end(),
                      [](const OpCall& call) { return call.outcome == Outcome::kRepaired; });
}

const std::vector<Format>& all_formats() {
  static const std::vector<Format> formats = {
      {"text", "for people in a terminal", write_text, true},
      {"lines", "file:line: severity: message [rule], for editors", write_lines, true},
      {"github", "annotations of a GitHub workflow", write_github, true},
      {"json", "for programs; docs/report-schema.json describes it", write_json},
      {"sarif", "SARIF 2.1.0, for code scanning and editors", write_sarif},
      {"junit", "XML that CI servers show as tests", write_junit},
      {"html", "one page with the findings and all op calls, for a browser", write_html},
  };
  return formats;
}

const Format* find_format(const std::string& name) {
  for (const Format& format : all_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace dtypecheck::reports
