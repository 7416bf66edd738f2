#include "cli/report_options.h"

#include <fmt/format.h>

#include <vector>

namespace dtypecheck::cli {

void add_report_options(Options& options, judging::ReportOptions& report,
                        const std::string& output_help, const std::string& fail_on_help) {
  std::vector<std::string> formats;
  for (const reports::Format& format : reports::all_formats()) formats.push_back(format.name);
  options.add_choice("--format", report.format, formats,
                     "how the findings are written; default: text");
  options.add_choice("--color", report.colour, {"always", "auto", "never"},
                     "colours; default: auto, on a terminal, unless NO_COLOR is set");
  options.add("-o,--output", report.output, output_help).type("FILE");
  options.add_choice("--fail-on", report.fail_on, {"note", "warning", "error", "never"},
                     fail_on_help);
}

void add_suppression_options(Options& options, judging::ReportOptions& report) {
  options
      .add("--suppress", report.suppressions,
           fmt::format(
               "file of accepted findings; default: {} in the current folder, when it is there",
               judging::kDefaultSuppressions))
      .type("FILE");
  options.add_flag("--all", report.all, "show every finding in full, and accepted ones too");
}

void add_target_options(Options& options, judging::ReportOptions& report) {
  options
      .add("--target", report.target,
           "also say what would be refused on this device and LibTorch version, such as "
           "cuda:2.11 or cpu:1.13")
      .type("DEVICE:VERSION");
  options
      .add("--contracts", report.contracts,
           "contracts that dtypecheck probe measured, beside those it ships with")
      .type("FILE");
}

}  // namespace dtypecheck::cli
