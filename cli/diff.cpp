// dtypecheck diff: what changed dtype between two runs, or between a lockfile and a run; or, of
// runs recorded with --values, where their numbers part.
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "compare/compare.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/output.h"
#include "reports/judging/lock_diff.h"
#include "reports/judging/recorded_run.h"

namespace dtypecheck::cli {

struct DiffCommand {
  std::string before, after;
  std::string output;
  bool json = false;
  bool all = false;
  bool values = false;
  bool dtypes = false;
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

static bool has_values(const std::string& path) {
  try {
    const std::vector<std::string> files = trace_files(path);
    return std::any_of(files.begin(), files.end(), [](const std::string& file) {
      return read_trace_header(file).flags & trace::kFlagValues;
    });
  } catch (const InputError&) {
    return false;  // reading all of it says why
  }
}

static bool compares_values(const DiffCommand& command) {
  if (command.values) return true;
  return !command.dtypes && has_values(command.before) && has_values(command.after);
}

static int run_on_values(const DiffCommand& command) {
  const compare::Comparison comparison = compare::compare_values(
      read_digests(command.before), read_digests(command.after), command.before, command.after);
  Output output = open_output(command.output);
  output.stream() << (command.json
                          ? to_json(comparison, command.before, command.after)
                          : to_text(comparison, command.before, command.after, command.all));
  output.finish();
  return comparison.is_apart() ? kFound : kClean;
}

// What differs is a finding; where nothing does, a run of which a part is missing proves nothing.
static int run(const DiffCommand& command) {
  if (compares_values(command)) return run_on_values(command);
  Side before = read_side(command.before), after = read_side(command.after);
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
  const Option values = options.add_flag(
      "--values", command->values,
      "compare numbers, by the digests of trace --values: the first op that adds more than it was "
      "given; default where both have them");
  options.add_flag("--dtypes", command->dtypes, "compare dtypes, though both have digests")
      .excludes(values);
  options.add("-o,--output", command->output, "file for what differs; default: standard output")
      .type("FILE");
  return [command] { return run(*command); };
}

extern const Command diff_command = {
    .name = "diff",
    .summary = "show what changed dtype between two runs, or where their numbers part",
    .arguments = "[OPTIONS] OLD NEW",
    .examples =
        "  dtypecheck diff dtype.lock run.trace\n"
        "  dtypecheck diff run.trace run.trace --json\n"
        "  dtypecheck diff run1 run2 --values\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
