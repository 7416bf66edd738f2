#include "cli/report_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <regex>
#include <vector>

#include "cli/exit_status.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "reports/judging/baseline.h"
#include "reports/summary.h"

namespace dtypecheck::cli {

static int say_missing(const std::string& what, const std::vector<std::string>& missing) {
  if (missing.empty()) return kClean;
  const size_t more = missing.size() - 1;
  print_line(fmt::format("{}: {}{}", what, missing.front(),
                         more == 0 ? "" : fmt::format(" (and {} more)", more)));
  return kCouldNotDo;
}

int status_of(const reports::Report& report, const judging::ReportOptions& options) {
  if (judging::any_at_least(report.findings, options.fail_on)) return kFound;
  return say_missing(report.findings.empty() ? "no findings, but a part of the run is missing"
                                             : "a part of the run is missing",
                     reports::what_is_missing(report));
}

int status_of_whole(const judging::RecordedRun& recorded, const std::string& what) {
  const reports::Report report{.run = recorded.run, .left_out = recorded.left_out};
  return say_missing(fmt::format("a part of the run of {} is missing", what),
                     reports::what_is_missing(report));
}

void add_recording_options(Options& options, std::string& out, std::string* check_values) {
  options.add("--out", out, "folder of the run; default: dtypecheck-runs/<date>-<time>-<pid>")
      .type("DIR");
  if (check_values != nullptr)
    options.add_flag("--check-values", *check_values, kUsualSteps,
                     "look for the first inf or NaN in the results: in the first 16 steps and one "
                     "in 16 of the others, and in all of --check-values=95-100 too");
}

std::string steps_option(const std::string& name, std::string steps) {
  if (steps == kUsualSteps) return name;
  static const std::regex kList(
      "[1-9][0-9]{0,8}(-[1-9][0-9]{0,8})?(,[1-9][0-9]{0,8}(-[1-9][0-9]{0,8})?)*");
  if (!std::regex_match(steps, kList))
    throw InputError(fmt::format("--{}={}: expected steps counted from 1, as in --{}=1,2,95-100",
                                 name, printable(steps), name));
  std::replace(steps.begin(), steps.end(), ',', '+');  // a comma parts the tracer's options
  return name + "=" + steps;
}

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

void add_rule_options(Options& options, judging::ReportOptions& report) {
  options.add("--select", report.select, "report findings of these rules only, such as a,b")
      .type("RULE")
      .one_each();
  options.add("--ignore", report.ignore, "leave out findings of these rules")
      .type("RULE")
      .one_each();
}

void add_finding_options(Options& options, judging::ReportOptions& report) {
  add_rule_options(options, report);
  options
      .add("--suppress", report.suppressions,
           fmt::format("file of accepted findings; default: {} in the current folder, if it exists",
                       judging::kDefaultSuppressions))
      .type("FILE");
  options.add_flag("--all", report.all, "show every finding in full, and accepted ones too");
  add_baseline_options(options, report);
}

void add_baseline_options(Options& options, judging::ReportOptions& report) {
  options.add("--baseline", report.baseline, "file of accepted findings, which are not reported")
      .type("FILE");
  options.add_flag("--update-baseline", report.update_baseline,
                   "write the current findings into that file, and report nothing");
}

void add_target_options(Options& options, judging::ReportOptions& report) {
  options
      .add("--target", report.target,
           "also say what would be refused on this device and LibTorch version, such as "
           "cuda:2.11 or cpu:1.13")
      .type("DEVICE:VERSION");
  options
      .add("--contracts", report.contracts,
           "contracts that dtypecheck probe measured, in addition to the built-in ones")
      .type("FILE");
}

void add_all_report_options(Options& options, judging::ReportOptions& report) {
  add_report_options(
      options, report, "file for the findings; default: standard output",
      "exit with 1 on findings of this severity or above, and with 2 where there is none but a "
      "part of the run is missing; default: warning");
  add_finding_options(options, report);
  add_target_options(options, report);
}

int write_result(reports::Report& report, const judging::ReportOptions& options) {
  if (options.update_baseline) {
    judging::update_baseline(report, options.baseline);
    return kClean;
  }
  Output output = open_output(options.output);
  judging::write_report(report, options, output, STDOUT_FILENO);
  return status_of(report, options);
}

}  // namespace dtypecheck::cli
