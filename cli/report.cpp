// dtypecheck report: reads traces, judges them, writes what it finds.
#include <memory>

#include "cli/command.h"
#include "cli/follow.h"
#include "cli/report_options.h"
#include "cures/advice.h"
#include "cures/proven_change.h"
#include "platform/progress.h"
#include "reports/judging/judged_report.h"
#include "reports/judging/recorded_run.h"
#include "trace/run_folder.h"

namespace dtypecheck::cli {

struct ReportCommand {
  std::vector<std::string> inputs;
  bool follow = false;
  judging::ReportOptions report{.fail_on = "warning"};
};

static int run(const ReportCommand& command) {
  judging::check_report_inputs(command.report);
  const auto inputs = command.inputs.empty() ? std::vector{newest_run_folder()} : command.inputs;
  if (command.follow) return follow(inputs, command.report);
  auto progress = std::make_unique<Progress>("reading the traces");
  const judging::RecordedRun recorded = judging::read_recorded_run(inputs);
  progress->now("judging what was recorded");
  reports::Report report = judging::judged_report(recorded, command.report);
  cures::put_placed_first(report.findings, recorded);
  if (inputs.size() == 1) {
    if (const auto change = cures::read_proven_change(inputs.front()))
      cures::report_proven_change(*change, report.findings);
  }
  progress.reset();
  return write_result(report, command.report);
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<ReportCommand>();
  options
      .add("INPUT", command->inputs,
           "run folders, *.dtrace files or *.trace text; default: the newest run in "
           "./dtypecheck-runs")
      .type("");
  options.add_flag("--follow", command->follow,
                   "while the program runs, print each new finding on a line until all its "
                   "processes have ended");
  add_all_report_options(options, command->report);
  return [command] { return run(*command); };
}

extern const Command report_command = {
    .name = "report",
    .summary = "judge a recorded run and write what was found",
    .arguments = "[OPTIONS] [INPUT...]",
    .examples =
        "  dtypecheck report\n"
        "  dtypecheck report dtypecheck-runs/* --format html -o report.html\n"
        "  dtypecheck report run.trace --fail-on error\n"
        "  dtypecheck report --follow run.trace\n"
        "  dtypecheck report --target cuda:2.11\n"
        "  dtypecheck report --baseline dtype.baseline --update-baseline\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
