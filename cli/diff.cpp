// dtypecheck diff: what changed dtype between two runs, or between a lockfile and a run; or, of
// runs recorded with --values, where their numbers part.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "compare/compare.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/output.h"
#include "platform/overlay.h"
#include "platform/progress.h"
#include "platform/temporary_folder.h"
#include "platform/terminal.h"
#include "reports/judging/lock_diff.h"
#include "reports/judging/recorded_run.h"
#include "trace/run_folder.h"

namespace dtypecheck::cli {

struct DiffCommand {
  std::string before, after;
  std::string output;
  bool json = false;
  std::string format = "text";
  bool all = false;
  bool values = false;
  bool dtypes = false;
  bool bisect = false;
};

struct Side {
  judging::Lock lock;
  judging::RecordedRun recorded;
  bool is_run = false;
};

static bool names_a_run(const std::filesystem::path& path) {
  return is_folder(path) || path.extension() == ".dtrace" || path.extension() == ".trace";
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
    return std::ranges::any_of(files, [](const std::string& file) {
      return read_trace_header(file).flags & trace::kFlagValues;
    });
  } catch (const InputError&) {
    return false;  // reading all of it says why
  }
}

static bool compares_values(const DiffCommand& command) {
  if (command.values || command.bisect || command.format == "html") return true;
  if (command.dtypes) return false;
  const bool before = has_values(command.before), after = has_values(command.after);
  if (before != after && names_a_run(before ? command.after : command.before))
    print_line(
        fmt::format("{}: no digests of values, so that dtypes alone are compared; record it with "
                    "--values",
                    before ? command.after : command.before));
  return before && after;
}

// Ends a process of a run once its optimizer has done that step: the op calls up to there were
// recorded as they returned. Not where digests may be on their way from a GPU.
class EndsBehindStep {
 public:
  EndsBehindStep(std::string run, uint32_t step)
      : run_(std::move(run)), step_(step), thread_([this] { watch(); }) {}
  ~EndsBehindStep() {
    is_done_ = true;
    thread_.join();
  }
  EndsBehindStep(const EndsBehindStep&) = delete;

 private:
  void watch() const {
    for (; !is_done_; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
      try {
        for (const std::string& file : trace_files(run_)) end_if_behind(read_trace_header(file));
      } catch (const InputError&) {  // nothing was recorded so far
      }
    }
  }

  void end_if_behind(const trace::FileHeader& header) const {
    constexpr size_t kMostMaps = 16u << 20;
    if (header.end_state != 0 || header.steps < step_ || header.pid <= 0) return;
    const auto maps = read_file_if_any(fmt::format("/proc/{}/maps", header.pid), kMostMaps);
    if (!maps || maps->find("/libcuda.so") != maps->npos) return;
    ::kill(static_cast<pid_t>(header.pid), SIGKILL);
  }

  const std::string run_;
  const uint32_t step_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

// Of a program that trains in one process, what the others record is not compared.
static bool trains_in_one_process(const std::vector<DigestedProcess>& run) {
  return std::ranges::count_if(
             run, [](const DigestedProcess& process) { return process.steps > 0; }) == 1;
}

// The program of a run once more, with some modules in Float and digests of one step. What it
// prints and, where the system can cover its folders, what it writes is thrown away; then it may be
// ended early as well, for nothing of the user's is half written.
static std::vector<DigestedProcess> run_in_float(const RunDescription& description,
                                                 const std::vector<std::string>& modules,
                                                 uint32_t step, bool may_end_early) {
  const TemporaryFolder folder("bisect");
  const std::string run = folder.path() + "/run", errors = folder.path() + "/errors";
  std::vector<std::string> command = {
      own_executable(), "trace", fmt::format("--values={}", step), "--no-report", "--no-gpu",
      "--out",          run};
  const bool is_covered = why_not_covered(description.folder).empty();
  if (is_covered) command.push_back("--discard-writes");
  for (const std::string& module : modules) command.insert(command.end(), {"--in-float", module});
  command.push_back("--");
  command.insert(command.end(), description.command.begin(), description.command.end());
  const Descriptor out(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const Descriptor err(::open(errors.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const Progress progress(fmt::format("running it with {} in Float", fmt::join(modules, ", ")));
  std::unique_ptr<EndsBehindStep> ends;
  if (is_covered && may_end_early) ends = std::make_unique<EndsBehindStep>(run, step);
  const ChildEnd end =
      run_child(command.front(), command, current_environment(), {out, err}, [&]() -> std::string {
        return ::chdir(description.folder.c_str()) == 0
                   ? ""
                   : description.folder + ": it cannot be run there any more";
      });
  ends.reset();
  if (end.signal != 0) throw InputError("interrupted; nothing was found");
  try {
    return read_digests(run);
  } catch (const InputError&) {
    throw InputError(fmt::format("{} with --in-float recorded nothing: {}",
                                 description.command.front(),
                                 read_file_if_any(errors, 4096).value_or("")));
  }
}

static compare::Bisection bisect(const DiffCommand& command, const compare::Comparison& comparison,
                                 const std::vector<DigestedProcess>& before,
                                 const std::vector<DigestedProcess>& after) {
  if (!comparison.inputs.agree())
    throw InputError(
        fmt::format("{} and {} began with different numbers, so the cause may be no module: "
                    "dtypecheck diff says what to set",
                    command.before, command.after));
  const RunDescription description = read_run_description(command.after);
  if (!description.under.empty())
    throw InputError(
        fmt::format("{} was recorded by dtypecheck {}; --bisect wants one of "
                    "dtypecheck trace",
                    command.after, description.under.front()));
  const bool may_end_early = trains_in_one_process(after);
  const auto& likely = comparison.places.empty() ? comparison.rounding : comparison.places;
  return compare::bisect(compare::main_process(before, command.before),
                         compare::main_process(after, command.after), comparison.steps,
                         likely.empty() ? "" : likely.front().site.module,
                         [&](const std::vector<std::string>& modules, uint32_t step) {
                           return run_in_float(description, modules, step, may_end_early);
                         });
}

static int run_on_values(const DiffCommand& command) {
  const std::vector<DigestedProcess> before = read_digests(command.before),
                                     after = read_digests(command.after);
  compare::Comparison comparison =
      compare::compare_values(before, after, command.before, command.after);
  if (command.bisect) comparison.bisection = bisect(command, comparison, before, after);
  Output output = open_output(command.output);
  if (command.format == "html")
    compare::write_html(comparison, comparison.compared_a, comparison.compared_b, command.before,
                        command.after, output.stream());
  else
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
  const Option json =
      options.add_flag("--json", command->json, "the differences as one JSON object");
  options.add_flag("--all", command->all, "show all differences, not one screen of them");
  const Option values =
      options.add_flag("--values", command->values,
                       "compare numbers by the digests of trace --values, and name the first op "
                       "that adds a difference of its own; default where both have digests");
  Option format = options.add_choice(
      "--format", command->format, {"text", "html"},
      "html, of numbers: one page with the modules, coloured by how far apart they are, and the op "
      "calls of each side by side");
  format.excludes(json);
  const Option dtypes =
      options.add_flag("--dtypes", command->dtypes, "compare dtypes, though both have digests")
          .excludes(values);
  options
      .add_flag(
          "--bisect", command->bisect,
          "run the program of NEW repeatedly with modules in Float (trace --in-float), to find the "
          "fewest that bring its last loss as near to that of OLD as its dtypes allow")
      .excludes(dtypes);
  options.add("-o,--output", command->output, "file for what differs; default: standard output")
      .type("FILE");
  return [command] { return run(*command); };
}

extern const Command diff_command = {
    .name = "diff",
    .summary = "show which dtypes changed between two runs, or where their numbers start to differ",
    .arguments = "[OPTIONS] OLD NEW",
    .examples =
        "  dtypecheck diff dtype.lock run1                       # which dtypes changed?\n"
        "  dtypecheck diff run1 run2                             # where do their numbers part?\n"
        "  dtypecheck diff run1 run2 --format html -o diff.html  # … module by module\n"
        "  dtypecheck diff run1 run2 --json -o diff.json         # … for a program\n"
        "  dtypecheck diff run-in-float run-in-bf16 --bisect     # what has to stay in Float?\n"
        "  dtypecheck diff one-process eight-ranks               # do ranks compute the same?\n"
        "  dtypecheck diff eight-ranks eight-ranks               # did a replica drift?\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
