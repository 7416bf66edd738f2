// dtypecheck trace: runs a program with the tracer in it, and reports what was found once it has
// ended.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <regex>

#include "cli/command.h"
#include "cli/cure.h"
#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "cli/tracing.h"
#include "core/process_facts.h"
#include "cures/advice.h"
#include "cures/proven_change.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/install_paths.h"
#include "platform/output.h"
#include "platform/overlay.h"
#include "platform/printable.h"
#include "platform/program.h"
#include "platform/progress.h"
#include "platform/terminal.h"
#include "reports/judging/baseline.h"
#include "reports/judging/judged_report.h"
#include "reports/judging/recorded_run.h"
#include "trace/draws.h"
#include "trace/run_folder.h"
#include "tracer/build/hook_cache.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

static std::string health_option(const std::string& every) {
  if (every == kUsualSteps) return "health";
  if (!std::regex_match(every, std::regex("[1-9][0-9]{0,8}")))
    throw InputError(fmt::format(
        "--health={}: expected each how many steps to look, as in --health=10", printable(every)));
  return "health=" + every;
}

// They are parts of one option of the tracer's.
static void check_module_names(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty() || name.find_first_of(",+ \t\n") != name.npos)
      throw InputError(fmt::format(
          "--in-float {}: expected a module as the reports call it, as in unet.mid_block",
          printable(name)));
  }
}

// Of those that --in-float names, each that no op was called in, or a compiled region.
static void say_what_was_in_float(const TraceCommand& command, const Run& run) {
  if (command.in_float.empty()) return;
  for (const std::string& name : command.in_float) {
    bool was_called = false, has_region = false, is_region_in_it = false;
    for (const OpCall& call : run.calls) {
      const std::string& module = call.site.module;
      const bool is_in_it =
          module.starts_with(name) && (module.size() == name.size() || module[name.size()] == '.');
      was_called |= is_in_it && !call.in_compiled_region;
      has_region |= call.in_compiled_region;
      is_region_in_it |= is_in_it && call.in_compiled_region;
    }
    constexpr const char* kStays = "torch.compile, which stays as it was compiled";
    if (!was_called)
      print_line(fmt::format("--in-float {}: no op was called in a module of this name{}",
                             printable(name),
                             has_region ? fmt::format(", outside of a region of {}", kStays) : ""));
    else if (is_region_in_it)
      print_line(fmt::format("--in-float {}: in it is a region of {}", printable(name), kStays));
  }
  print_line(
      "the results of this run are not those of the program: --in-float computed modules in Float");
}

static void check_replay(const std::string& folder) {
  if (folder.empty() || fs::exists(fs::path(folder) / trace::draws_file(0))) return;
  throw InputError(fmt::format(
      "{}: no random numbers were recorded there; record it with --record-draws", folder));
}

static void say_what_was_replayed(const TraceCommand& command, const Run& run) {
  if (command.replay.empty()) return;
  for (const Process& process : run.processes) {
    const auto fact = process.facts.find(fact_name(FactKey::kReplay));
    std::smatch counts;
    if (fact != process.facts.end() &&
        std::regex_match(fact->second, counts, std::regex(R"(given=(\d+) own=(\d+))")))
      print_line(fmt::format("{} random ops got the numbers of {}, {} drew their own",
                             counts[1].str(), printable(command.replay), counts[2].str()));
  }
  print_line(
      "the results of this run are not those of the program: --replay gave it the random numbers "
      "of "
      "another");
}

// tracer/protocol.md
static Environment tracer_environment(const TraceCommand& command, const RunFolder& folder,
                                      const std::string& hooks) {
  const std::string preload = preloadable(preload_library(), hooks);
  std::vector<std::string> options;
  if (command.steady) options.push_back("steady");
  if (!command.check_values.empty())
    options.push_back(steps_option("check-values", command.check_values));
  if (!command.values.empty()) options.push_back(steps_option("values", command.values));
  if (!command.health.empty()) options.push_back(health_option(command.health));
  if (command.keep_going) options.push_back("keep-going");
  if (command.nudge) options.push_back("nudge");
  if (command.seed >= 0) options.push_back(fmt::format("seed={}", command.seed));
  if (command.timeline > 0) options.push_back(fmt::format("timeline={}", command.timeline));
  if (command.fix) options.push_back("fix");
  if (command.record_draws) options.push_back("record-draws");
  if (!command.in_float.empty())
    options.push_back(fmt::format("in-float={}", fmt::join(command.in_float, "+")));
  options.insert(options.end(), command.hook_options.begin(), command.hook_options.end());

  Environment environment = current_environment();
  add_preload(environment, preload);
  allow_preload_before_sanitizers(environment);
  set_variable(environment, "DTYPECHECK_RUN", folder.path());
  set_variable(environment, "DTYPECHECK_HOOKS", hooks);
  set_variable(environment, "DTYPECHECK_EXE", own_executable());
  set_variable(environment, "DTYPECHECK_OPTIONS", fmt::format("{}", fmt::join(options, ",")));
  if (!command.replay.empty())
    set_variable(environment, "DTYPECHECK_REPLAY", fs::absolute(command.replay).string());
  if (!command.no_gpu) set_variable(environment, "DTYPECHECK_GPU", gpu_library());
  if (command.change_environment) command.change_environment(environment, hooks);
  return environment;
}

static void say_if_killed(const std::string& program, const ChildEnd& end) {
  if (end.signal == 0) return;
  print_line(fmt::format("{} was killed by signal {} ({}){}", program, end.signal,
                         strsignal(end.signal), end.core_dumped ? ", and left a core file" : ""));
}

// Beside the program's own output a person reads lines; a page or a document for programs is a
// file.
static Output open_trace_report(const TraceCommand& command, const RunFolder& folder) {
  if (!command.report.output.empty()) return open_output(command.report.output);
  if (reports::find_format(command.report.format)->is_lines)
    return Output::to_fd(STDERR_FILENO, "standard error");
  const std::string path = fmt::format("{}/report.{}", folder.shown_path(), command.report.format);
  print_line(fmt::format("the report is in {}", path));
  return Output::to_file(path);
}

static void say_what_was_recorded(const judging::RecordedRun& recorded, const RunFolder& folder) {
  if (!recorded.run.processes.empty()) {
    print_line(fmt::format("the trace is in {}", folder.shown_path()));
  } else if (recorded.left_out.empty()) {
    print_line("no LibTorch op ran, so there is nothing to report");
  } else {
    for (const std::string& left_out : recorded.left_out) print_line(left_out);
    print_line("nothing was recorded, so there is nothing to report");
  }
}

// The findings come last, for a terminal ends in them.
static void write_trace_report(reports::Report& report, const TraceCommand& command,
                               const judging::RecordedRun& recorded, const RunFolder& folder) {
  Output output = open_trace_report(command, folder);
  if (!output.is_file()) output.stream() << '\n' << std::flush;
  say_what_was_recorded(recorded, folder);
  if (!output.is_file()) output.stream() << '\n';
  judging::write_report(report, command.report, output, STDERR_FILENO);
}

// A faulty name is reported before a run of hours, not after it.
static void check_report_options(const TraceCommand& command) {
  judging::check_report_inputs(command.report);
  if (command.no_report && !command.report.output.empty())
    throw InputError(
        fmt::format("--no-report writes no findings, and --output names {} for them; leave one out",
                    command.report.output));
  if (!command.report.output.empty()) open_output(command.report.output);
}

static bool has_fail_level(const TraceCommand& command) {
  return !command.report.fail_on.empty() && command.report.fail_on != "never";
}

int status_of(const ChildEnd& end) {
  return end.signal == 0 ? end.exit_status : kSignalBase + end.signal;
}

// A full disk costs what is noted of the run, not the report.
static void note_end(RunFolder& folder, const ChildEnd& end) {
  try {
    folder.note_end(end);
  } catch (const InputError& error) {
    print_line(error.what());
  }
}

static void keep_sources(judging::RecordedRun& recorded, const RunFolder& folder,
                         fs::file_time_type started_at) {
  recorded.sources = Sources::of_run(recorded.run, started_at);
  try {
    recorded.sources.write(folder.path());
  } catch (const OutputError& error) {
    print_line(error.what());
  }
}

static void cure(const TraceCommand& command, const RunFolder& folder,
                 const judging::RecordedRun& recorded, reports::Report& report) {
  if (!judging::any_at_least(report.findings, "warning")) return;
  const cures::Program program{command.program, fs::current_path().string()};
  look_for_cure(folder.path(), recorded, report.findings, program, {});
  if (const auto change = cures::read_proven_change(folder.path()))
    cures::report_proven_change(*change, report.findings);
}

// With a fail level a run that recorded nothing is no clean run; without one it is the user's
// program that counts.
static int report_on(const TraceCommand& command, const RunFolder& folder, const ChildEnd& end,
                     fs::file_time_type started_at) {
  auto progress = std::make_unique<Progress>("judging what was recorded");
  judging::RecordedRun recorded = judging::read_run_folder(folder.path());
  keep_sources(recorded, folder, started_at);
  reports::Report report = judging::judged_report(recorded, command.report);
  // A run that is merely recorded does not wait for it.
  if (!command.no_report || command.cure || command.conclude)
    cures::put_placed_first(report.findings, recorded);
  progress.reset();
  if (command.cure) cure(command, folder, recorded, report);
  report.end_is_reported = end.signal != 0;  // by say_if_killed()
  if (command.report.update_baseline) {
    judging::update_baseline(report, command.report.baseline);
    return status_of(end);
  }
  const bool empty = recorded.run.processes.empty();
  if (empty || command.no_report)
    say_what_was_recorded(recorded, folder);
  else
    write_trace_report(report, command, recorded, folder);
  say_what_was_in_float(command, recorded.run);
  say_what_was_replayed(command, recorded.run);
  if (!report.results_valid())
    print_line(
        "the results of this run are not valid: --keep-going cast operands so that it could go on");
  if (command.conclude) return command.conclude(recorded, report, end);
  if (has_fail_level(command) && empty) return kCouldNotDo;
  const int own = has_fail_level(command) ? status_of(report, command.report) : kClean;
  return own == kClean || (own == kCouldNotDo && status_of(end) != 0) ? status_of(end) : own;
}

// What the program writes goes to a folder that is removed with the object.
class DiscardedWrites {
 public:
  // What is written to `kept` stays: the run, and tracers that are compiled for it.
  DiscardedWrites(const TraceCommand& command, const std::vector<std::string>& kept) {
    if (!command.discard_writes && !command.discard_all) return;
    covering_ = {.folders = written_folders(command.program), .kept = kept, .scratch = ""};
    if (command.discard_all) covering_.others = folders_of_environment();
    covering_.seals = command.discard_all;
    std::vector<std::string> all = covering_.folders;
    all.insert(all.end(), covering_.others.begin(), covering_.others.end());
    covering_.scratch = scratch_beside(all, fs::path(kept.front()).parent_path().string());
    way_out_ =
        command.discard_all ? ", for what the program writes would stay; --let-write lets it" : "";
  }
  ~DiscardedWrites() { remove_scratch(covering_.scratch); }
  DiscardedWrites(const DiscardedWrites&) = delete;

  // In the program's process.
  std::string cover() const {
    if (covering_.folders.empty()) return "";
    const std::string problem = covering_.scratch.empty()
                                    ? "no folder is left for what the program writes"
                                    : cover_folders(covering_);
    return problem.empty() ? "" : fmt::format("{}; nothing was run{}", problem, way_out_);
  }

 private:
  Covering covering_;
  std::string way_out_;
};

static std::string hooks_of(const RunFolder& folder) {
  std::string why_no_cache;
  const std::string hooks = hook_cache(folder.path(), &why_no_cache);
  if (!why_no_cache.empty())
    print_line(fmt::format("{}; this run keeps its tracer in {}", why_no_cache, hooks));
  return hooks;
}

int run_traced(const TraceCommand& command) {
  if (command.program.empty()) {
    throw InputError("no program to trace; for example dtypecheck trace -- python train.py");
  }
  check_module_names(command.in_float);
  check_replay(command.replay);
  const std::string program = find_program(command.program.front());
  const std::string obstacle = why_not_traceable(program);
  check_report_options(command);
  RunFolder folder = RunFolder::create(command.out, command.program, command.under,
                                       /*goes_on=*/!command.health.empty());
  const std::string hooks = hooks_of(folder);
  const DiscardedWrites discarded(command, {folder.path(), hooks});
  const Environment environment =
      dies_of_preload(program) ? current_environment() : tracer_environment(command, folder, hooks);
  if (!obstacle.empty()) print_line(fmt::format("{}: {}; it runs untraced", program, obstacle));

  const auto started_at = fs::file_time_type::clock::now();
  const ChildEnd end = run_child(program, command.program, environment, {},
                                 [&discarded] { return discarded.cover(); });
  if (command.has_ended) command.has_ended();
  say_if_killed(command.program.front(), end);
  try {
    note_end(folder, end);
    return report_on(command, folder, end, started_at);
  } catch (const std::exception&
               error) {  // here, and not in main: the program has run, and its status is the answer
    print_line(error.what());
    return has_fail_level(command) ? kCouldNotDo : status_of(end);
  }
}

void add_health_option(Options& options, TraceCommand& command) {
  options.add_flag("--health", command.health, kUsualSteps,
                   "follow the largest numbers of each module over the run and predict overflows: "
                   "in some 100 of 10,000 steps, or in every tenth step with --health=10; --out "
                   "may name the folder of an earlier run that this one resumes");
}

static std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<TraceCommand>();
  options.leave_rest_to(command->program);
  add_recording_options(options, command->out, &command->check_values);
  const Option steady = options.add_flag("--steady", command->steady,
                                         "once nothing new appears, trace only some of the steps");
  Option keep_going = options.add_flag(
      "--keep-going", command->keep_going,
      "cast the operands of an op that fails for its dtypes, report it, and go on, so that one run "
      "shows all of them; the results are not valid from then on");
  keep_going.excludes(steady);
  options
      .add(
          "--seed", command->seed,
          "seed torch's random numbers on the CPU, unless the program does, so that two runs of it "
          "can be compared")
      .type("N")
      .range(0, 1 << 30);
  options
      .add_flag("--nudge", command->nudge,
                "change the last bits of the random numbers that the program draws on the CPU: "
                "what it prints then differs by as much as rounding alone explains")
      .needs(keep_going);
  const Option fix =
      options
          .add_flag(
              "--fix", command->fix,
              "compute in Float, and round once, what LibTorch refuses for its dtypes or does "
              "slowly in Half; the results are valid")
          .excludes(steady)
          .excludes(keep_going);
  options
      .add("--in-float", command->in_float,
           "compute this module and all in it in Float, from its call to its end; it changes the "
           "program's results; may be given several times")
      .type("MODULE")
      .one_each()
      .excludes(steady)
      .excludes(keep_going)
      .excludes(fix);
  options.add_flag(
      "--values", command->values, kUsualSteps,
      "record digests of the operands and results of each op call, for dtypecheck diff: in "
      "steps 1, 2, 4, 8 and so on, or in those of --values=1,2,95-100");
  add_health_option(options, *command);
  options.add_flag("--record-draws", command->record_draws,
                   "keep the random numbers that the program draws on the CPU, up to 64 MB, for "
                   "--replay");
  options
      .add(
          "--replay", command->replay,
          "give the program the random numbers of this run, recorded with --record-draws: those of "
          "ops of the same name and sizes, in their order; it changes the program's results")
      .type("RUN");
  options.add_flag("--cure", command->cure,
                   "then look for a change that cures the findings, as dtypecheck cure does, and "
                   "show it in the report");
  options.add_flag("--discard-writes", command->discard_writes,
                   "discard what the program writes to this folder and to folders that its "
                   "arguments name, by a copy-on-write overlay");
  options.add_flag("--no-gpu", command->no_gpu,
                   "do not record the GPU kernels of each op, which CUPTI reports");
  options
      .add("--timeline", command->timeline,
           "record start and duration of each op call of so many first steps, for dtypecheck dump "
           "--format perfetto; default: 0")
      .type("STEPS");
  add_report_options(
      options, command->report,
      "file for the findings; default: standard error for text, a file in the run's "
      "folder for the others",
      "exit with 1 on findings of this severity or above, with 2 when there is none but "
      "a part of the run is missing; default and otherwise: the program's own "
      "status");
  options.add_flag("--no-report", command->no_report,
                   "only record; dtypecheck report judges it later");
  add_finding_options(options, command->report);
  add_target_options(options, command->report);
  return [command] { return run_traced(*command); };
}

extern const Command trace_command = {
    .name = "trace",
    .summary = "run a program under the tracer and report what was found",
    .arguments = "[OPTIONS] [--] PROGRAM [ARGS...]",
    .examples =
        "  dtypecheck trace -- python train.py\n"
        "  dtypecheck trace --steady --out run1 -- accelerate launch train.py --mixed_precision "
        "bf16\n"
        "  dtypecheck trace --check-values --fail-on error -- ./libtorch_trainer\n"
        "  dtypecheck trace --values -- python train.py --mixed_precision bf16\n"
        "  dtypecheck trace --fix -- python train.py --mixed_precision fp16\n"
        "  dtypecheck trace --in-float unet.mid_block -- python train.py --mixed_precision bf16\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
