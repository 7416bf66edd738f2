// report_options.h: the options of every command that ends in a report.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "judging/judged_report.h"

namespace dtypecheck::cli {

// --format, -o and --fail-on; the help texts say what happens without the latter two.
void add_report_options(CLI::App& app, judging::ReportOptions& options, const std::string& output_help,
                        const std::string& fail_on_help);
// --suppress and --all.
void add_suppression_options(CLI::App& app, judging::ReportOptions& options);

// --target and --contracts.
void add_target_options(CLI::App& app, judging::ReportOptions& options);

}  // namespace dtypecheck::cli
