// dtypecheck diff: what changed dtype between two runs, or between a lockfile and a run.
#include <filesystem>
#include <memory>
#include <tuple>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "platform/files.h"
#include "platform/output.h"
#include "reports/judging/engine_roles.h"
#include "reports/judging/lock_diff.h"
#include "reports/judging/recorded_run.h"

namespace dtypecheck::cli {

struct DiffCommand {
  std::string before, after;
  std::string output;
  bool json = false;
  bool all = false;
  bool engines = false;
};

struct Side {
  judging::Lock lock;
  judging::RecordedRun recorded;
  bool is_run = false;
};

static bool names_a_run(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_directory(path, unknown) || path.extension() == ".dtrace" ||
         path.extension() == ".trace";
}

static Side read_side(const std::string& path) {
  Side side;
  if (names_a_run(path)) {
    side.recorded = judging::read_one_input(path);
    side.lock = judging::lock_of(side.recorded.run);
    side.is_run = true;
  } else {
    side.lock = judging::parse_lock(
        read_given_file(path, "name a lockfile, a run's folder or a trace"), path);
  }
  return side;
}

// What differs is a finding; where nothing does, a run of which a part is missing proves nothing.
static int run(const DiffCommand& command) {
  Side before = read_side(command.before), after = read_side(command.after);
  if (command.engines)
    std::tie(before.lock, after.lock) = judging::roles_of(before.lock, after.lock);
  const judging::LockDiff diff = judging::diff_locks(std::move(before.lock), std::move(after.lock),
                                                     command.before, command.after);
  Output output = open_output(command.output);
  output.stream() << (command.json
                          ? judging::to_json(diff, command.before, command.after)
                          : judging::to_text(diff, command.before, command.after, command.all));
  output.finish();
  int whole = kClean;
  for (const auto& [side, name] : {std::pair(&before, command.before), {&after, command.after}}) {
    if (side->is_run && status_of_whole(side->recorded, name) != kClean) whole = kCouldNotDo;
  }
  return diff.empty() ? whole : kFound;
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<DiffCommand>();
  options.add("OLD", command->before, "a lockfile, a run's folder, a *.dtrace or *.trace file")
      .type("")
      .required();
  options.add("NEW", command->after, "the same, of what is compared with it").type("").required();
  options.add_flag("--json", command->json, "what differs as one JSON object");
  options.add_flag("--all", command->all, "show all differences, not one screen of them");
  options.add_flag("--engines", command->engines,
                   "OLD trains what NEW generates with: compare weights, layers, norms, caches, "
                   "logits and samplers, not ops");
  options.add("-o,--output", command->output, "file for what differs; default: standard output")
      .type("FILE");
  return [command] { return run(*command); };
}

extern const Command diff_command = {
    .name = "diff",
    .summary = "show what changed dtype between two runs, or between a lockfile and a run",
    .arguments = "[OPTIONS] OLD NEW",
    .examples =
        "  dtypecheck diff dtype.lock run.trace\n"
        "  dtypecheck diff run.trace run.trace --json\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
