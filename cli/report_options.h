// report_options.h: the options of every command that ends in a report.
#pragma once

#include <string>

#include "cli/options.h"
#include "reports/judging/judged_report.h"

namespace dtypecheck::cli {

// kFound with a finding at the fail level or above. Where there is none, but a part of the run is
// missing, nobody can say that it is clean: kCouldNotDo, with the reason on standard error.
int status_of(const reports::Report& report, const judging::ReportOptions& options);

// The same of what is made from a run without judging it; `what` is not whole then.
int status_of_whole(const judging::RecordedRun& recorded, const std::string& what);

// Of --check-values, --values and --health where they are given without a value.
constexpr char kUsualSteps[] = "usual";

// --out, and --check-values of what looks at values, for a command that records.
void add_recording_options(Options& options, std::string& out, std::string* check_values = nullptr);

// The tracer's option (tracer/protocol.md) for steps that a user names: "check-values=1+95-100" for
// --check-values=1,95-100. Throws InputError.
std::string steps_option(const std::string& name, std::string steps);

// --format, --color, -o and --fail-on; the help texts say what happens without the latter two.
void add_report_options(Options& options, judging::ReportOptions& report,
                        const std::string& output_help, const std::string& fail_on_help);
// --select and --ignore.
void add_rule_options(Options& options, judging::ReportOptions& report);

// --baseline and --update-baseline.
void add_baseline_options(Options& options, judging::ReportOptions& report);

// Which findings of a run are reported: --select, --ignore, --suppress, --all, --baseline and
// --update-baseline.
void add_finding_options(Options& options, judging::ReportOptions& report);

// --target and --contracts.
void add_target_options(Options& options, judging::ReportOptions& report);

// All of these, for a command whose findings are its result, and what it then does with them: it
// writes them, or with --update-baseline that file, and returns status_of().
void add_all_report_options(Options& options, judging::ReportOptions& report);
int write_result(reports::Report& report, const judging::ReportOptions& options);

}  // namespace dtypecheck::cli
