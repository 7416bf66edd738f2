// text_finding.h: one finding as lines for a terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/report.h"

namespace dtypecheck::reports {

// Colours as a terminal shows them; plain text when off. What is painted must be printable: the
// escape sequences here are the only ones that may reach the terminal.
class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string severity(Severity severity, std::string_view text) const;
  std::string bold(std::string_view text) const { return wrapped("1", text); }
  std::string dim(std::string_view text) const { return wrapped("2", text); }
  std::string odd(std::string_view text) const { return wrapped("1;33", text); }

 private:
  std::string wrapped(const char* code, std::string_view text) const;
  bool on_;
};

// How far a finding is moved to the right of the one that it belongs to, and how it is introduced.
struct Indent {
  int depth = 0;
  const char* lead = "";  // "then "
  std::string spaces() const { return std::string(2 * std::min(depth, 8), ' '); }
};

// The text, which is printable, as a link to that line where the report has links (OSC 8) and the
// file is here; a terminal that knows none shows the text.
std::string link(const Report& report, const std::string& text, const SourceLine& to);

size_t text_columns(const Report& report);  // the report's, at least 60

// What is too wide for a terminal, shortened in the middle, or at its end. In a file or a pipe all
// of it is kept.
std::string fitted(const Report& report, std::string text, size_t columns);
std::string fitted_start(const Report& report, std::string text, size_t columns);

// All of it. What a reader acts on comes first: what, where, the odd operand, the cure; then the op
// with its other operands, and why.
std::vector<std::string> full_finding(const Report& report, const Finding& finding, Indent indent);

// What to do alone: the cure, with the first line that changes. Empty where nothing is known.
std::vector<std::string> advice(const Report& report, const Finding& finding);

// One line: severity, what, where, how often, which rule.
std::string brief_finding(const Report& report, const Finding& finding, Indent indent);

}  // namespace dtypecheck::reports
