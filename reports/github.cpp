// github.cpp: workflow commands, which GitHub's runner takes from the output of a step and shows as
// annotations on the lines of a pull request:
//   ::error file=train.py,line=91,title=mixed-operands::Half input meets a Float weight
// What a command means to the runner is escaped: percent signs and line ends everywhere, colons and
// commas in properties. No text can then begin a command of its own, as commands begin a line.
#include <fmt/format.h>

#include <ostream>
#include <string_view>

#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/report.h"
#include "reports/summary.h"

namespace dtypecheck::reports {

namespace {

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    out += special.find(c) == special.npos ? std::string(1, c)
                                           : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}
std::string in_message(std::string_view text) { return escaped(text, "%\r\n"); }
std::string in_property(std::string_view text) { return escaped(text, "%\r\n:,"); }

const char* command_of(Severity severity) {
  static constexpr const char* kCommands[] = {"notice", "warning", "error"};
  return kCommands[static_cast<int>(severity)];
}

std::string printable_text(const std::string& text) { return joined(printable_lines(text), "\n"); }

std::string message_of(const Report& report, const Finding& finding) {
  std::string text = printable(finding.message);
  if (!finding.why.empty()) text += "\nwhy: " + printable_text(finding.why);
  if (const Fix fix = fix_of(report, finding); !fix.text.empty())
    text += fmt::format("\n{}: {}", fix.label, printable_text(fix.text));
  return text;
}

std::string properties_of(const Report& report, const Finding& finding) {
  std::string text;
  const SourceLine& line = finding.site.line;
  if (line.known()) {
    text =
        fmt::format("file={}", in_property(printable(path_below(report.base_folder, line.file))));
    if (line.line > 0) text += fmt::format(",line={}", line.line);
    if (finding.column > 0) {
      text += fmt::format(",col={}", finding.column);
      if (finding.end_column > finding.column)
        text += fmt::format(",endColumn={}", finding.end_column);
    }
    text += ',';
  }
  return text + "title=" + in_property(printable(finding.rule));
}

}  // namespace

void write_github(const Report& report, std::ostream& out) {
  for (const Finding& finding : report.findings) {
    out << fmt::format("::{} {}::{}\n", command_of(finding.severity),
                       properties_of(report, finding), in_message(message_of(report, finding)));
  }
  for (const std::string& caveat : caveats(report)) {
    out << fmt::format("::{} title=dtypecheck::{}\n", report.complete() ? "notice" : "warning",
                       in_message(caveat));
  }
  out << headline(report) << '\n';
}

}  // namespace dtypecheck::reports
