// judged_report.h: from a recorded run to findings in a format, for every command that ends in a
// report.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"
#include "platform/output.h"
#include "reports/judging/recorded_run.h"
#include "reports/report.h"

namespace dtypecheck::judging {

// What is read where no suppression file is named.
inline constexpr const char* kDefaultSuppressions = ".dtypecheck-suppressions";

struct ReportOptions {
  std::string format = "text";
  std::string colour = "auto";
  std::string output;   // empty: stdout
  std::string fail_on;  // a severity, "never", or empty when not given
  std::string
      suppressions;  // empty: .dtypecheck-suppressions of the current folder, when it is there
  bool all = false;  // suppressed findings too
  std::vector<std::string> select, ignore;  // rules, of which alone, or not, findings are reported
  std::string target;                       // "cuda:2.11"; empty: none
  std::string contracts;                    // a contract file beside the shipped ones; empty: none
  std::string baseline;                     // of findings that are not reported again; empty: none
  bool update_baseline = false;             // write it instead
};

// Throws InputError when the suppression file or the contracts cannot be used, or the target is not
// known: to be known before a long run, not after it.
void check_report_inputs(const ReportOptions& options);

// Leaves out what --select and --ignore do, and says in a remark how many.
void drop_unselected(reports::Report& report, const ReportOptions& options);

// Judges the run, drops what a suppression accepts or the baseline knows, and says in remarks what
// was dropped.
reports::Report judged_report(const RecordedRun& recorded, const ReportOptions& options);

// `fd` is where the output goes where it is no file.
void write_report(reports::Report& report, const ReportOptions& options, Output& output, int fd);

// The documents of the checks and rules that found something.
std::vector<Doc> docs_of(const std::vector<Finding>& findings);

// True when a finding is at or above the level; never for "never".
bool any_at_least(const std::vector<Finding>& findings, const std::string& fail_on);

}  // namespace dtypecheck::judging
