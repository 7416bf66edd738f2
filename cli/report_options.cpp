#include "cli/report_options.h"

#include <fmt/format.h>

#include <vector>

#include "cli/command.h"

namespace dtypecheck::cli {

void add_report_options(CLI::App& app, judging::ReportOptions& options, const std::string& output_help,
                        const std::string& fail_on_help) {
  std::vector<std::string> formats;
  for (const reports::Format& format : reports::all_formats()) formats.push_back(format.name);
  add_choice(app, "--format", options.format, formats,
             "how the findings are written; default: text");
  app.add_option("-o,--output", options.output, output_help)->type_name("FILE");
  add_choice(app, "--fail-on", options.fail_on, {"note", "warning", "error", "never"},
             fail_on_help);
}

void add_suppression_options(CLI::App& app, judging::ReportOptions& options) {
  app.add_option(
         "--suppress", options.suppressions,
         fmt::format(
             "file of accepted findings; default: {} in the current folder, when it is there",
             judging::kDefaultSuppressions))
      ->type_name("FILE");
  app.add_flag("--all", options.all, "show every finding in full, and accepted ones too");
}

void add_target_options(CLI::App& app, judging::ReportOptions& options) {
  app.add_option("--target", options.target,
                 "also say what would be refused on this device and LibTorch version, such as "
                 "cuda:2.11 or cpu:1.13")
      ->type_name("DEVICE:VERSION");
  app.add_option("--contracts", options.contracts,
                 "contracts that dtypecheck probe measured, beside those it ships with")
      ->type_name("FILE");
}

}  // namespace dtypecheck::cli
