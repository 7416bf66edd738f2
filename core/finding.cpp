#include "core/finding.h"

namespace dtypecheck {

const char* severity_name(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "note";
}

std::optional<Severity> parse_severity(std::string_view text) {
  for (Severity severity : {Severity::kNote, Severity::kWarning, Severity::kError}) {
    if (text == severity_name(severity)) return severity;
  }
  return std::nullopt;
}

}  // namespace dtypecheck
