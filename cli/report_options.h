// report_options.h: the options of every command that ends in a report.
#pragma once

#include <string>

#include "cli/options.h"
#include "judging/judged_report.h"

namespace dtypecheck::cli {

// --format, --color, -o and --fail-on; the help texts say what happens without the latter two.
void add_report_options(Options& options, judging::ReportOptions& report,
                        const std::string& output_help, const std::string& fail_on_help);
// --suppress and --all.
void add_suppression_options(Options& options, judging::ReportOptions& report);

// --target and --contracts.
void add_target_options(Options& options, judging::ReportOptions& report);

}  // namespace dtypecheck::cli
