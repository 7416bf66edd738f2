#include "cli/judged_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/command.h"
#include "cli/terminal.h"
#include "cli/version.h"
#include "reports/source_lines.h"
#include "rules/rule.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

static constexpr const char* kDefaultSuppressions = ".dtypecheck-suppressions";

void add_report_options(CLI::App& app, ReportOptions& options, const std::string& output_help,
                        const std::string& fail_on_help) {
  std::vector<std::string> formats;
  for (const reports::Format& format : reports::all_formats()) formats.push_back(format.name);
  add_choice(app, "--format", options.format, formats,
             "how the findings are written; default: text");
  app.add_option("-o,--output", options.output, output_help)->type_name("FILE");
  add_choice(app, "--fail-on", options.fail_on, {"note", "warning", "error", "never"},
             fail_on_help);
}

void add_suppression_options(CLI::App& app, ReportOptions& options) {
  app.add_option(
         "--suppress", options.suppressions,
         fmt::format(
             "file of accepted findings; default: {} in the current folder, when it is there",
             kDefaultSuppressions))
      ->type_name("FILE");
  app.add_flag("--all", options.all, "show every finding in full, and accepted ones too");
}

static std::vector<reports::RuleText> texts_of(const std::vector<Finding>& findings) {
  std::set<std::string> found;
  for (const Finding& finding : findings) found.insert(finding.rule);
  std::vector<reports::RuleText> texts;
  for (const rules::Rule* rule : rules::all_rules()) {
    const rules::RuleDoc& doc = rule->doc;
    if (!found.contains(doc.id)) continue;
    texts.push_back({doc.id, doc.summary, doc.why, doc.fix, rule->example, doc.severity});
  }
  return texts;
}

static std::string suppression_file(const ReportOptions& options) {
  std::error_code error;
  const bool use_default = options.suppressions.empty() && fs::exists(kDefaultSuppressions, error);
  return use_default ? kDefaultSuppressions : options.suppressions;
}

void check_suppressions(const ReportOptions& options) {
  const std::string path = suppression_file(options);
  if (!path.empty()) rules::read_suppressions(path);
}

static void drop_accepted(reports::Report& report, const ReportOptions& options) {
  const std::string path = suppression_file(options);
  if (path.empty() || options.all) return;
  std::vector<rules::Suppression> unused;
  const size_t dropped = rules::suppress(report.findings, rules::read_suppressions(path), &unused);
  if (dropped > 0) {
    report.remarks.push_back(fmt::format("{} finding{} accepted by {}; --all shows {}", dropped,
                                         dropped == 1 ? "" : "s", path,
                                         dropped == 1 ? "it" : "them"));
  }
  for (const rules::Suppression& suppression : unused) {
    report.remarks.push_back(fmt::format("{}:{}: nothing matches {} any more; remove the line",
                                         path, suppression.text_line, suppression.rule));
  }
}

// Lines are quoted only from files that have not changed since the run was recorded.
static reports::LineText lines_of(const Run& run, const fs::path& folder) {
  fs::file_time_type recorded_at = fs::file_time_type::min();
  for (const Process& process : run.processes) {
    std::error_code unknown;
    const fs::file_time_type written = fs::last_write_time(process.file, unknown);
    if (!unknown) recorded_at = std::max(recorded_at, written);
  }
  return reports::source_lines_below(folder, recorded_at);
}

reports::Report judged_report(const RecordedRun& recorded, const ReportOptions& options) {
  std::error_code unknown;
  const fs::path folder = fs::current_path(unknown);
  reports::Report report{.run = recorded.run,
                         .findings = rules::judge(recorded.run),
                         .tool_version = tool_version(),
                         .base_folder = folder.string(),
                         .left_out = recorded.left_out,
                         .all = options.all,
                         .line_text = lines_of(recorded.run, folder)};
  drop_accepted(report, options);
  report.rules = texts_of(report.findings);
  return report;
}

void write_report(reports::Report& report, const std::string& format, Output& output,
                  int colour_fd) {
  report.colour = !output.is_file() && wants_colour(colour_fd);
  if (!output.is_file()) report.columns = columns_of(colour_fd, report.columns);
  const reports::Format* writer = reports::find_format(format);  // CLI11 has checked the name
  writer->write(report, output.stream());
  output.finish();
}

bool any_at_least(const std::vector<Finding>& findings, const std::string& fail_on) {
  const std::optional<Severity> level = parse_severity(fail_on);
  return level && std::any_of(findings.begin(), findings.end(),
                              [&](const Finding& finding) { return finding.severity >= *level; });
}

}  // namespace dtypecheck::cli
