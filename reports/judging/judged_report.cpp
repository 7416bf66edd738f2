#include "reports/judging/judged_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "analyzer/check.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/nearest.h"
#include "platform/terminal.h"
#include "platform/text.h"
#include "platform/version.h"
#include "reports/formatting.h"
#include "reports/judging/accepted.h"
#include "reports/judging/baseline.h"
#include "reports/judging/known_ids.h"
#include "reports/source_lines.h"
#include "rules/engine/rule.h"
#include "rules/engine/target.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

static std::string suppression_file(const ReportOptions& options) {
  std::error_code error;
  const bool use_default = options.suppressions.empty() && fs::exists(kDefaultSuppressions, error);
  return use_default ? kDefaultSuppressions : options.suppressions;
}

// The shipped contracts, and after them those of the file that was named.
static contracts::Contracts contracts_of(const ReportOptions& options) {
  contracts::Contracts all = contracts::Contracts::shipped();
  if (!options.contracts.empty()) {
    all.add(read_given_file(options.contracts, "dtypecheck probe writes contracts"),
            options.contracts);
  }
  return all;
}

static std::optional<size_t> target_of(const ReportOptions& options,
                                       const contracts::Contracts& contracts) {
  if (options.target.empty()) return std::nullopt;
  return contracts.find_target(contracts::parse_target(options.target));
}

static std::vector<std::string> rules_named(const std::vector<std::string>& lists) {
  std::vector<std::string> rules;
  for (std::string_view list : lists) {
    while (!list.empty()) rules.emplace_back(trimmed(next_piece(list, ',')));
  }
  std::erase(rules, "");
  return rules;
}

static void check_rules(const char* option, const std::vector<std::string>& lists) {
  for (const std::string& rule : rules_named(lists)) {
    if (is_known_id(rule)) continue;
    throw InputError(fmt::format("{}: there is no rule {}{}", option, rule,
                                 suggestion(rule, known_ids(), "dtypecheck rules lists them")));
  }
}

void drop_unselected(reports::Report& report, const ReportOptions& options) {
  const auto select = rules_named(options.select), ignore = rules_named(options.ignore);
  const auto has = [](const std::vector<std::string>& rules, const std::string& rule) {
    return std::find(rules.begin(), rules.end(), rule) != rules.end();
  };
  const size_t dropped = rules::drop_findings(report.findings, [&](const Finding& finding) {
    return has(ignore, finding.rule) || (!select.empty() && !has(select, finding.rule));
  });
  if (dropped == 0) return;
  report.remarks.push_back(fmt::format("{} left out by {}", reports::counted(dropped, "finding"),
                                       select.empty()   ? "--ignore"
                                       : ignore.empty() ? "--select"
                                                        : "--select and --ignore"));
}

void check_report_inputs(const ReportOptions& options) {
  check_rules("--select", options.select);
  check_rules("--ignore", options.ignore);
  const std::string path = suppression_file(options);
  if (!path.empty()) rules::read_suppressions(path);
  target_of(options, contracts_of(options));
  if (options.update_baseline && options.baseline.empty())
    throw InputError("--update-baseline writes a file; name it with --baseline FILE");
  if (!options.baseline.empty() && (!options.update_baseline || is_there(options.baseline)))
    Baseline::read(options.baseline);
}

constexpr size_t kMaxUnknownOps = 8;  // named in the remark; the count goes on

// How far the answer about a target reaches.
static std::string target_remark(const contracts::Contracts& contracts,
                                 const rules::TargetAnswers& answers) {
  const contracts::Runtime& target = contracts.runtimes()[answers.runtime];
  std::string text =
      fmt::format("target {} ({}): {} op call{} known there, {} refused", target.to_string(),
                  target.measured ? "measured" : "read in LibTorch's source, not measured",
                  answers.known, answers.known == 1 ? "" : "s", answers.refusals.size());
  if (answers.unknown.empty()) return text;
  std::vector<std::string> ops(answers.unknown.begin(), answers.unknown.end());
  const size_t more = ops.size() - std::min(ops.size(), kMaxUnknownOps);
  ops.resize(ops.size() - more);
  text += fmt::format("; unknown there and not judged: {}", fmt::join(ops, ", "));
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

static void drop_accepted(reports::Report& report, const ReportOptions& options) {
  if (options.all) return;
  drop_allowed_on_lines(report);
  drop_accepted_by_config(report);
  const std::string path = suppression_file(options);
  if (!path.empty()) drop_accepted_by_file(report, path);
}

// The lines that were kept when the run was recorded; others are quoted only from files that have
// not changed since.
static LineText lines_of(const RecordedRun& recorded, const fs::path& folder) {
  fs::file_time_type recorded_at = fs::file_time_type::min();
  for (const Process& process : recorded.run.processes) {
    std::error_code unknown;
    const fs::file_time_type written = fs::last_write_time(process.file, unknown);
    if (!unknown) recorded_at = std::max(recorded_at, written);
  }
  return [&recorded, now = reports::source_lines_below(folder, recorded_at)](
             const std::string& file, int line) {
    const std::string kept = recorded.sources.line(file, line);
    return kept.empty() ? now(file, line) : kept;
  };
}

reports::Report judged_report(const RecordedRun& recorded, const ReportOptions& options) {
  std::error_code unknown;
  const fs::path folder = fs::current_path(unknown);
  const contracts::Contracts contracts = contracts_of(options);
  const rules::RunIndex index(recorded.run);
  std::optional<rules::TargetAnswers> target;
  if (const auto runtime = target_of(options, contracts))
    target = rules::target_answers(index, contracts, *runtime);
  const LineText line_text = lines_of(recorded, folder);
  reports::Report report{.run = recorded.run,
                         .findings = rules::judge(index, {.contracts = &contracts,
                                                          .target = target ? &*target : nullptr,
                                                          .line_text = line_text}),
                         .tool_version = tool_version(),
                         .base_folder = folder.string(),
                         .left_out = recorded.left_out,
                         .all = options.all,
                         .line_text = line_text};
  report.accepted_throws_of = reports::processes_of_throws(report.run, report.findings);
  drop_unselected(report, options);
  drop_accepted(report, options);
  if (!options.baseline.empty() && !options.update_baseline)
    drop_baseline(report, options.baseline);
  for (const uint32_t thrown : reports::processes_of_throws(report.run, report.findings))
    report.accepted_throws_of.erase(thrown);
  if (target) report.remarks.push_back(target_remark(contracts, *target));
  report.rules = docs_of(report.findings);
  return report;
}

void write_report(reports::Report& report, const ReportOptions& options, Output& output, int fd) {
  const reports::Format* format = reports::find_format(options.format);  // CLI11 has checked it
  const int shown_on = output.is_file() ? -1 : fd;
  report.colour = options.format == "text" && wants_colour(shown_on, options.colour);
  if (!output.is_file()) report.columns = columns_of(fd, report.columns);
  report.shortens = is_terminal(shown_on);
  if (report.shortens) report.rows = rows_of(fd, 24);
  report.links = report.colour && report.shortens;
  // Where no level is asked for, it is still worth knowing what would fail.
  report.fail_level =
      options.fail_on.empty() ? Severity::kWarning : parse_severity(options.fail_on);
  format->write(report, output.stream());
  output.finish();
}

std::vector<Doc> docs_of(const std::vector<Finding>& findings) {
  std::vector<Doc> all;
  for (const analyzer::Check* check : analyzer::all_checks()) all.push_back(check->doc);
  for (const rules::Rule* rule : rules::all_rules()) all.push_back(rule->doc);
  std::erase_if(all, [&](const Doc& doc) {
    return std::ranges::none_of(findings,
                                [&](const Finding& finding) { return finding.rule == doc.id; });
  });
  return all;
}

bool any_at_least(const std::vector<Finding>& findings, const std::string& fail_on) {
  const std::optional<Severity> level = parse_severity(fail_on);
  return level && std::ranges::any_of(
                      findings, [&](const Finding& finding) { return finding.severity >= *level; });
}

}  // namespace dtypecheck::judging
