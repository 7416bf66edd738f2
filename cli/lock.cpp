// dtypecheck lock: what each module of a run computes in, as a text to keep beside the source.
#include "reports/judging/lock.h"

#include <memory>

#include "cli/command.h"
#include "cli/report_options.h"
#include "platform/output.h"
#include "reports/judging/recorded_run.h"
#include "trace/run_folder.h"

namespace dtypecheck::cli {

struct LockCommand {
  std::vector<std::string> inputs;
  std::string output;
};

static int run(const LockCommand& command) {
  const auto inputs = command.inputs.empty() ? std::vector{newest_run_folder()} : command.inputs;
  const judging::RecordedRun recorded = judging::read_recorded_run(inputs);
  Output output = open_output(command.output);
  output.stream() << judging::to_text(judging::lock_of(recorded.run));
  output.finish();
  return status_of_whole(recorded, "the lock");
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<LockCommand>();
  options
      .add("RUN", command->inputs,
           "run folders, *.dtrace files or *.trace text; default: the newest run in "
           "./dtypecheck-runs")
      .type("");
  options.add("-o,--output", command->output, "the lockfile; default: standard output")
      .type("FILE");
  return [command] { return run(*command); };
}

extern const Command lock_command = {
    .name = "lock",
    .summary = "write the dtypes of each module of a run, for reviews and diff",
    .arguments = "[OPTIONS] [RUN...]",
    .examples =
        "  dtypecheck lock -o dtype.lock\n"
        "  dtypecheck lock run.trace -o dtype.lock\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
