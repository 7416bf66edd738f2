// dtypecheck lint: parses C++ and CUDA sources, judges what they do with tensors, writes what it
// finds.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "analyzer/check.h"
#include "analyzer/fixes.h"
#include "analyzer/lint_parse.h"
#include "analyzer/lint_sources.h"
#include "analyzer/op_calls.h"
#include "analyzer/parse/parser_servers.h"
#include "cli/command.h"
#include "cli/doc_pages.h"
#include "cli/exit_status.h"
#include "cli/lint_server.h"
#include "cli/report_options.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/progress.h"
#include "platform/terminal.h"
#include "platform/version.h"
#include "reports/formatting.h"
#include "reports/judging/baseline.h"
#include "reports/judging/judged_report.h"
#include "reports/judging/lint_report.h"
#include "reports/summary.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

struct LintCommand {
  std::vector<std::string> paths;
  std::string build;  // -p
  std::string torch;
  analyzer::ParseOptions parse;
  bool fix = false;
  bool list = false;
  bool lsp = false;
  std::string explain;
  judging::ReportOptions report{.fail_on = "warning"};
};

// The cures of what is at the fail level or above: a note may well be so on purpose.
void fix(reports::Report& report, const std::string& fail_on, const analyzer::BrokenFiles& broken) {
  std::vector<Finding> cured, others;
  for (Finding& finding : report.findings) {
    const bool counts = judging::any_at_least({finding}, fail_on);
    (counts ? cured : others).push_back(std::move(finding));
  }
  const analyzer::AppliedFixes applied = analyzer::apply_fixes(cured, broken);
  report.findings = std::move(cured);
  for (Finding& finding : others) report.findings.push_back(std::move(finding));
  report.remarks.push_back(fmt::format("{} finding{} cured in {} file{}", applied.findings,
                                       applied.findings == 1 ? "" : "s", applied.files,
                                       applied.files == 1 ? "" : "s"));
  for (const std::string& place : applied.in_the_way) {
    report.remarks.push_back(fmt::format(
        "{}: not cured: another cure changes the same text, or the file has changed; run it again",
        place));
  }
  for (const std::string& place : applied.broken) {
    report.remarks.push_back(
        fmt::format("{}: not cured: the file would not compile with the cure", place));
  }
}

void sort_by_severity(std::vector<Finding>& findings) {
  std::ranges::stable_sort(
      findings, [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
}

int show_checks(const std::string& id) {
  const std::vector<Doc> docs = docs_of(analyzer::all_checks());
  return print_text(
      id.empty()
          ? doc_list(docs, "dtypecheck lint --explain ID shows the reason, the cure and an example")
          : doc_page(docs, "check", id, "dtypecheck lint --list-checks shows them all"));
}

analyzer::Toolkits toolkits_of(const LintCommand& command, const std::string& first,
                               const analyzer::Database& database) {
  if (command.torch == "bundled") return analyzer::bundled_toolkits();
  const std::string full = fs::absolute(first).lexically_normal().string();
  return analyzer::find_toolkits(command.torch, first, database ? database->find(full) : nullptr);
}

// What is to be reported, less what comments accept.
void judge(reports::Report& report, Run& ops, const LintCommand& command,
           const std::vector<analyzer::SourceFacts>& all, const std::string& torch_version,
           analyzer::SourceTexts& sources) {
  report.findings = judging::judge(all);
  const LineText line_text = [&](const std::string& file, int line) {
    return sources.line(file, line);
  };
  for (Finding& finding : analyzer::judge_ops(all, torch_version, line_text, ops)) {
    report.findings.push_back(std::move(finding));
  }
  judging::give_ids(report, sources);
  judging::indent_edits(report, sources);
  judging::drop_unselected(report, command.report);
  judging::drop_allowed(report, sources, command.report.all);
}

// One file for an editor. The database is read anew each time, for a build may have written it.
Linted lint_one(const LintCommand& command, const std::string& file,
                analyzer::ParserServers& servers) {
  analyzer::Database database;
  if (!command.build.empty()) database = analyzer::CompileDatabase::read(command.build);
  const std::vector<std::string> files = analyzer::sources_of({file}, database);
  const analyzer::Toolkits toolkits = toolkits_of(command, file, database);
  analyzer::ParseOptions options = command.parse;
  options.alone = true;  // whoever types does not wait for other files
  options.servers = &servers;
  auto all = parse(files, database, toolkits, options);
  analyzer::SourceTexts sources;
  Run ops;
  reports::Report report{.run = ops, .tool_version = tool_version()};
  judge(report, ops, command, all, toolkits.torch_version, sources);
  if (!command.report.baseline.empty()) judging::drop_baseline(report, command.report.baseline);
  return {std::move(report.findings), std::move(all.front())};
}

int run(const LintCommand& command) {
  if (command.lsp) {
    analyzer::ParserServers servers;
    return serve_lint([&](const std::string& file) { return lint_one(command, file, servers); });
  }
  if (command.list || !command.explain.empty())
    return show_checks(command.list ? "" : command.explain);
  analyzer::Database database;
  if (!command.build.empty()) database = analyzer::CompileDatabase::read(command.build);
  judging::check_report_inputs(command.report);
  const std::vector<std::string> files = analyzer::sources_of(command.paths, database);
  const analyzer::Toolkits toolkits = toolkits_of(command, files.front(), database);
  auto progress = std::make_unique<Progress>(fmt::format(
      "parsing {}", files.size() == 1 ? files.front() : fmt::format("{} files", files.size())));
  analyzer::ParseOptions options = command.parse;
  std::copy_if(command.paths.begin(), command.paths.end(), std::back_inserter(options.folders),
               [](const std::string& path) { return fs::is_directory(path); });
  const auto all = parse(files, database, toolkits, options);
  progress.reset();

  analyzer::SourceTexts sources;
  Run ops;
  reports::Report report{.run = ops, .tool_version = tool_version(), .all = command.report.all};
  report.base_folder = fs::current_path().string();
  judging::describe_scan(report, all, toolkits);
  if (report.scan->analysed == 0) {
    throw InputError(fmt::format("nothing could be analysed; {}", report.left_out.front()));
  }
  judge(report, ops, command, all, toolkits.torch_version, sources);
  if (command.report.update_baseline) {
    judging::update_baseline(report, command.report.baseline);
    return kClean;
  }
  if (!command.report.baseline.empty()) judging::drop_baseline(report, command.report.baseline);
  if (command.fix) {
    fix(report, command.report.fail_on, [&](const std::vector<std::string>& edited) {
      return analyzer::files_with_more_errors(edited, all, database, toolkits, options);
    });
  }
  if (!command.report.all) judging::fold_alike(report);
  sort_by_severity(report.findings);
  report.rules = judging::docs_of(report.findings);
  report.line_text = [&](const std::string& file, int line) { return sources.line(file, line); };
  report.file_text = [&](const std::string& file) { return sources.text(file); };
  Output output = open_output(command.report.output);
  judging::write_report(report, command.report, output, STDOUT_FILENO);
  if (judging::any_at_least(report.findings, command.report.fail_on)) return kFound;
  if (!report.scan->sees_too_little()) return kClean;
  print_line("too little was understood to call it clean: " + reports::seen_whole(report));
  return kCouldNotDo;
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<LintCommand>();
  options.add("PATH", command->paths, "C++ and CUDA sources, or folders of them").type("");
  options
      .add("-p,--build", command->build,
           "build folder, or its compile_commands.json; without PATH all of its files are linted, "
           "without -p flags are inferred")
      .type("DIR");
  options
      .add("--torch", command->torch,
           "folder of the LibTorch to parse against, or `bundled`; default: that of the compile "
           "database, of the active Python or of a .venv above the first source")
      .type("DIR");
  options.add("-j,--jobs", command->parse.jobs, "files at a time; default: the number of cores")
      .type("N");
  options.add("--timeout", command->parse.timeout_s, "seconds for one file; default: 300")
      .type("SECONDS")
      .range(1, 86'400);
  add_report_options(options, command->report, "file for the findings; default: standard output",
                     "exit with 1 on findings of this severity or above; default: warning");
  add_rule_options(options, command->report);
  options.add_flag("--fix", command->fix,
                   "apply the mechanical cures of findings at the --fail-on level or above");
  add_baseline_options(options, command->report);
  options.add_flag("--alone", command->parse.alone,
                   "parse only the files of PATH; by default also those of their project that "
                   "call, bind or define their functions");
  options.add_flag("--no-cache", command->parse.no_cache,
                   "parse every file anew; by default the facts of unchanged files are read from "
                   "~/.cache/dtypecheck/lint");
  options.add_flag("--all", command->report.all,
                   "show every finding in full, and accepted ones too");
  options.add_flag("--lsp", command->lsp,
                   "serve an editor: the language server protocol on standard input and output");
  options.add_flag("--list-checks", command->list, "list the checks");
  options.add("--explain", command->explain, "explain one check").type("ID");
  return [command] { return run(*command); };
}

}  // namespace

extern const Command lint_command = {
    .name = "lint",
    .summary = "find dtype faults in C++ and CUDA source before it runs",
    .arguments = "[OPTIONS] [PATH...]",
    .examples =
        "  dtypecheck lint csrc\n"
        "  dtypecheck lint -p build src\n"
        "  dtypecheck lint --fix csrc/ops.cu\n"
        "  dtypecheck lint --format sarif -o lint.sarif csrc\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
