// report.h: what every report format gets, and the list of formats. A format is one file and one
// line in format_list.inc.
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/doc.h"
#include "core/finding.h"
#include "core/line_text.h"
#include "core/provenance.h"
#include "core/run.h"

namespace dtypecheck::reports {

// The whole text of a source file; "" when it cannot be read.
using FileText = std::function<std::string(const std::string& file)>;

// What was analysed, in a report about source: such a report has no op calls.
struct SourceScan {
  uint64_t analysed = 0;      // files
  uint64_t partly = 0;        // of these: with errors in code of the project
  uint64_t not_analysed = 0;  // files
  uint64_t mostly_lost = 0;   // files in part, of which more is not understood than is
  std::vector<std::string> missing_headers;  // of files in part

  // Of more than one file in ten little or nothing was seen: no findings says nothing.
  bool sees_too_little() const {
    return 10 * (mostly_lost + not_analysed) > analysed + not_analysed;
  }
  uint64_t functions = 0;
  std::string headers;  // what they were parsed against: "LibTorch 2.11.0"
};

// The processes in which a call threw that one of the findings is about.
std::set<uint32_t> processes_of_throws(const Run& run, const std::vector<Finding>& findings);

struct Report {
  const Run& run;
  std::vector<Finding> findings;
  std::vector<Doc> rules;            // of the findings' rules; no format knows a rule by name
  std::vector<std::string> remarks;  // what else a reader must know: suppressed, …; in every format
  std::string tool_version;
  bool colour = false;      // text only
  bool links = false;       // text only: places are links to their files, as terminals know them
  std::string base_folder;  // what programs read names files below it relative to it
  // What belongs to the run and is missing here: files that could not be read ("path: reason"),
  // processes that ran untraced. A report with any is not complete.
  std::vector<std::string> left_out;
  bool end_is_reported = false;  // that a signal ended the program was said already
  bool all = false;              // text only: every finding in full, however many there are
  int columns = 96;              // text only: width of a line, at least 60
  int rows = 0;                  // text only: of the terminal that scrolls it; 0: none does
  bool shortens =
      true;  // text only: what is wider is shortened; without, only running text is broken
  // Findings at or above it fail the command; none: nothing does.
  std::optional<Severity> fail_level = Severity::kWarning;
  LineText line_text;  // none: no source lines are shown
  FileText file_text;  // none: no fingerprints of lines
  // Of which a finding about a call that threw was accepted, and is not among these.
  std::set<uint32_t> accepted_throws_of;  // processes
  bool is_beside_baseline = false;        // the findings are those that a baseline does not have
  std::optional<SourceScan> scan;
  ProvenanceIndex provenance{run};

  bool complete() const;       // every process whole, with its end, and none left out
  bool results_valid() const;  // no op call was repaired: the program computed what it says
};

struct Format {
  const char* name;  // as --format takes it
  const char* summary;
  void (*write)(const Report& report, std::ostream& out);
  bool is_lines;  // to be read beside other output; otherwise it is one document
};

#define FORMAT(name, summary, form) void write_##name(const Report& report, std::ostream& out);
#include "reports/format_list.inc"
#undef FORMAT

const std::vector<Format>& all_formats();
const Format* find_format(const std::string& name);

}  // namespace dtypecheck::reports
