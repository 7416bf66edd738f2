// judged_report.h: from a recorded run to findings in a format, for every command that ends in a
// report.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "cli/output.h"
#include "cli/recorded_run.h"
#include "core/finding.h"
#include "reports/report.h"

namespace dtypecheck::cli {

struct ReportOptions {
  std::string format = "text";
  std::string output;   // empty: stdout
  std::string fail_on;  // a severity, "never", or empty when not given
  std::string
      suppressions;       // empty: .dtypecheck-suppressions of the current folder, when it is there
  bool all = false;       // suppressed findings too
  std::string target;     // "cuda:2.11"; empty: none
  std::string contracts;  // a contract file beside the shipped ones; empty: none
};

// --format, -o and --fail-on; the help texts say what happens without the latter two.
void add_report_options(CLI::App& app, ReportOptions& options, const std::string& output_help,
                        const std::string& fail_on_help);
// --suppress and --all.
void add_suppression_options(CLI::App& app, ReportOptions& options);

// --target and --contracts.
void add_target_options(CLI::App& app, ReportOptions& options);

// Throws InputError when the suppression file or the contracts cannot be used, or the target is not
// known: to be known before a long run, not after it.
void check_report_inputs(const ReportOptions& options);

// Judges the run, drops what a suppression accepts, and says in remarks what was dropped.
reports::Report judged_report(const RecordedRun& recorded, const ReportOptions& options);

void write_report(reports::Report& report, const std::string& format, Output& output,
                  int colour_fd);

// True when a finding is at or above the level; never for "never".
bool any_at_least(const std::vector<Finding>& findings, const std::string& fail_on);

}  // namespace dtypecheck::cli
