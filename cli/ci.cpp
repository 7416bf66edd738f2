// dtypecheck ci: a step of a CI. Records and judges a program, compares it with what was committed,
// and writes what the provider reads, whatever becomes of the program.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "cli/tracing.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/output.h"
#include "platform/terminal.h"
#include "reports/judging/baseline.h"
#include "reports/judging/lock_diff.h"
#include "reports/judging/recorded_run.h"
#include "reports/summary.h"

namespace dtypecheck::cli {
namespace {

struct CiCommand {
  TraceCommand trace;
  std::string baseline = "dtype.baseline";
  std::string lock = "dtype.lock";
  bool update = false;
};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) { return variable(name) == "true"; }

void write_as(const char* format, const std::string& file, reports::Report& report,
              const judging::ReportOptions& given) {
  judging::ReportOptions options = given;
  options.format = format;
  Output output = open_output(file);
  if (!output.is_file()) output.stream() << '\n';  // a workflow command begins a line
  judging::write_report(report, options, output, STDOUT_FILENO);
}

// The report in the page of the workflow's run, behind what other steps wrote.
void write_step_summary(const std::string& file, reports::Report& report) {
  report.colour = report.links = report.shortens = false;
  report.rows = 0;
  std::ostringstream text;
  reports::find_format("text")->write(report, text);
  std::string fence = "```";
  while (text.str().find(fence) != std::string::npos) fence += '`';
  std::ofstream out(file, std::ios::app);
  out << fmt::format("### dtypecheck: {}\n\n{}text\n{}{}\n", reports::headline(report), fence,
                     text.str(), fence);
  if (!out.flush()) print_line(fmt::format("{}: cannot be written", file));
}

// Places are relative to the repository for them, and not to the folder of the step.
void write_for_github(reports::Report& report, const judging::ReportOptions& options) {
  const std::string folder = report.base_folder, workspace = variable("GITHUB_WORKSPACE");
  if (!workspace.empty() && folder.starts_with(workspace + "/")) report.base_folder = workspace;
  write_as("github", "", report, options);
  write_as("sarif", "dtypes.sarif", report, options);
  report.base_folder = folder;
  if (const std::string page = variable("GITHUB_STEP_SUMMARY"); !page.empty())
    write_step_summary(page, report);
}

void write_for_provider(reports::Report& report, const judging::ReportOptions& options) {
  if (is_set("GITHUB_ACTIONS")) write_for_github(report, options);
  if (is_set("GITLAB_CI")) write_as("junit", "dtypes.xml", report, options);
}

// In the words of `diff`; true where something differs.
bool differs_from_lock(const CiCommand& command, const Run& run) {
  const judging::LockDiff diff =
      judging::diff_locks(judging::parse_lock(read_file(command.lock), command.lock),
                          judging::lock_of(run), command.lock, "this run");
  if (diff.empty()) return false;
  Output output = Output::to_fd(STDERR_FILENO, "standard error");
  output.stream() << '\n' << judging::to_text(diff, command.lock, "this run", /*all=*/false);
  output.finish();
  if (is_set("GITHUB_ACTIONS"))
    print_text(fmt::format(
        "::error file={},title=dtypes::the run differs from it; the log says how\n", command.lock));
  print_line(
      fmt::format("the run differs from {}; dtypecheck ci --update accepts that", command.lock));
  return true;
}

// Of a run that ended badly the rest is not known.
int update(const CiCommand& command, const judging::RecordedRun& recorded,
           const reports::Report& report, int own) {
  if (own != 0) {
    print_line(fmt::format("the program ended with status {}, so {} and {} stay as they are", own,
                           command.baseline, command.lock));
    return own;
  }
  if (status_of_whole(recorded, "the program") != kClean) return kCouldNotDo;
  judging::update_baseline(report, command.baseline);
  const std::string lock = judging::to_text(judging::lock_of(recorded.run));
  replace_file(command.lock, {lock});
  print_line(fmt::format("{} has the dtypes of the modules; commit both files", command.lock));
  return kClean;
}

// What was found goes before how the program ended, and that before what is not known.
int conclude(const CiCommand& command, const judging::RecordedRun& recorded,
             reports::Report& report, const ChildEnd& end) {
  const int own = status_of(end);
  if (command.update) return update(command, recorded, report, own);
  const judging::ReportOptions& options = command.trace.report;
  write_for_provider(report, options);
  const int found = status_of(report, options);
  if (found == kFound) return kFound;
  if (own != 0) return own;
  if (recorded.run.processes.empty()) return kCouldNotDo;
  if (is_there(command.lock) && differs_from_lock(command, recorded.run)) return kFound;
  return found;
}

int run(CiCommand& command) {
  if (command.trace.program.empty())
    throw InputError("no program to run; for example dtypecheck ci -- python train.py");
  if (is_there(command.lock)) judging::parse_lock(read_file(command.lock), command.lock);
  if (!command.update && is_there(command.baseline))
    command.trace.report.baseline = command.baseline;
  command.trace.conclude = [&](const judging::RecordedRun& recorded, reports::Report& report,
                               const ChildEnd& end) {
    return conclude(command, recorded, report, end);
  };
  return run_traced(command.trace);
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<CiCommand>();
  TraceCommand& trace = command->trace;
  trace.report.fail_on = "warning";
  options.leave_rest_to(trace.program);
  options.add_flag("--update", command->update,
                   "accept what this run finds: write the baseline and the lockfile, to be "
                   "committed");
  options
      .add("--baseline", command->baseline,
           "file of accepted findings, if it exists; default: dtype.baseline")
      .type("FILE");
  options
      .add("--lock", command->lock,
           "lockfile to compare the run with, if it exists; default: dtype.lock")
      .type("FILE");
  options.add_choice("--fail-on", trace.report.fail_on, {"note", "warning", "error", "never"},
                     "exit with 1 on findings of this severity or above; default: warning");
  add_recording_options(options, trace.out, &trace.check_values);
  add_rule_options(options, trace.report);
  add_target_options(options, trace.report);
  return [command] { return run(*command); };
}

}  // namespace

extern const Command ci_command = {
    .name = "ci",
    .summary = "run a program as a step of a CI: record, judge, compare, write what it shows",
    .arguments = "[OPTIONS] [--] PROGRAM [ARGS...]",
    .examples =
        "  dtypecheck ci -- python train.py --max_train_steps 2\n"
        "  dtypecheck ci --update -- python train.py --max_train_steps 2\n"
        "  dtypecheck ci --target cuda:2.15 -- python train.py --max_train_steps 2\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
