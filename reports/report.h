// report.h: what every report format gets, and the list of formats. A format is one file and one line in report.cpp.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/run.h"

namespace dtypecheck::reports {

// The document of a rule, for formats that explain findings; no format knows a rule by name.
struct RuleText {
  std::string id, summary, why, fix, example;
  Severity severity;
};

struct Report {
  const Run& run;
  std::vector<Finding> findings;
  std::vector<RuleText> rules;        // of the findings' rules
  std::vector<std::string> remarks;   // what could not be read, what was suppressed: shown in every format
  std::string tool_version;
  bool colour = false;                // text only
  std::string base_folder;            // paths below it are shown relative to it; empty: as recorded

  bool complete() const;              // every process whole and none left out
};

struct Format {
  const char* name;  // "text", "json", "html"
  const char* summary;
  void (*write)(const Report& report, std::ostream& out);
};

const std::vector<Format>& all_formats();
const Format* find_format(const std::string& name);

}  // namespace dtypecheck::reports
