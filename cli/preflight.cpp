// dtypecheck preflight: runs a program's first training steps on a GPU that is not there, and
// reports what was found. tracer/pretended/ stands in for CUDA; nothing is computed, and what the
// program writes is thrown away.
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/pretended_gpu.h"
#include "cli/report_options.h"
#include "cli/tracing.h"
#include "platform/error.h"
#include "platform/install_paths.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "reports/formatting.h"
#include "reports/summary.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

struct PreflightCommand {
  TraceCommand trace;
  std::string gpu = "a100", memory;
  unsigned gpus = 1, steps = 3, timeout_s = 600;
  bool compile = false, let_write = false;
};

// "24G" is 24 * 2^30.
uint64_t bytes_of(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  const int shift = unit == "G" || unit == "GiB" || unit == "GB"   ? 30
                    : unit == "M" || unit == "MiB" || unit == "MB" ? 20
                                                                   : -1;
  constexpr double kMost = 1 << 20;  // GB
  if (end == text.c_str() || shift < 0 || !(number > 0) || number > kMost)
    throw InputError(fmt::format("--memory {}: not a size; for example --memory 24G", text));
  return static_cast<uint64_t>(number * static_cast<double>(uint64_t{1} << shift));
}

// What would be sent away stays here. Who sets one of them has decided.
constexpr std::pair<const char*, const char*> kDefaults[] = {
    {"WANDB_MODE", "offline"},     {"HF_HUB_OFFLINE", "1"},    {"NEPTUNE_MODE", "offline"},
    {"CLEARML_OFFLINE_MODE", "1"}, {"COMET_MODE", "disabled"},
};
// What would be compiled runs as it is written: compiling takes long, and what is fused is no op
// that a finding could name.
constexpr std::pair<const char*, const char*> kEager[] = {
    {"TORCH_COMPILE_DISABLE", "1"},
    {"TORCHDYNAMO_DISABLE", "1"},
};

void set_environment(const PreflightCommand& command, Environment& environment,
                     const std::string& folder) {
  const uint64_t bytes = command.memory.empty() ? 0 : bytes_of(command.memory);
  pretend_gpu(environment, command.gpu, command.gpus, bytes, folder);
  const auto set_defaults = [&](const auto& defaults) {
    for (const auto& [name, value] : defaults)
      if (!std::getenv(name)) set_variable(environment, name, value);
  };
  set_defaults(kDefaults);
  if (!command.compile) set_defaults(kEager);
}

// All that was started, and is still there. Their parents may be gone: this process is the reaper
// of what its children leave behind.
std::vector<pid_t> descendants() {
  std::vector<std::pair<pid_t, pid_t>> all;  // process, parent
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0) continue;
    std::ifstream file(entry.path() / "stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(text.substr(name_end + 1));
    char state = 0;
    pid_t parent = 0;
    if (rest >> state >> parent && state != 'Z') all.emplace_back(pid, parent);
  }
  std::vector<pid_t> found = {::getpid()};
  for (size_t i = 0; i < found.size(); ++i)
    for (const auto& [pid, parent] : all)
      if (parent == found[i]) found.push_back(pid);
  found.erase(found.begin());
  return found;
}

void signal_descendants(int signal) {
  for (const pid_t pid : descendants()) ::kill(pid, signal);
}

// Ends the program when its time is over, and whatever of it is left when it has ended.
class Limit {
 public:
  void start(unsigned seconds) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    thread_ = std::thread([this, seconds] { watch(std::chrono::seconds(seconds)); });
  }
  ~Limit() { stop(); }
  Limit() = default;
  Limit(const Limit&) = delete;

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    ended_.notify_all();
    thread_.join();
    signal_descendants(SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  bool was_reached() const { return was_reached_; }

 private:
  static constexpr std::chrono::seconds kPatience{5};

  void watch(std::chrono::seconds limit) {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are the other thread's
    std::unique_lock<std::mutex> lock(mutex_);
    if (ended_.wait_for(lock, limit, [this] { return is_over_; })) return;
    was_reached_ = true;
    signal_descendants(SIGTERM);
    if (ended_.wait_for(lock, kPatience, [this] { return is_over_; })) return;
    signal_descendants(SIGKILL);
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread thread_;
  bool is_over_ = false;
  std::atomic<bool> was_reached_{false};
};

bool reached_last_step(const Run& run) {
  const auto reached = [](const Process& p) { return !p.fact(FactKey::kPretendedEnd).empty(); };
  return std::ranges::any_of(run.processes, reached);
}

// A wheel for the CPU has no libtorch_cuda.so beside libtorch_cpu.so.
const Process* without_cuda(const Run& run) {
  for (const Process& process : run.processes) {
    const fs::path path = process.fact(FactKey::kLibtorchPath);
    if (!path.empty() && !fs::exists(path.parent_path() / "libtorch_cuda.so")) return &process;
  }
  return nullptr;
}

// The exception that ended a process and that no finding speaks of; null where all is reported.
const std::string* unreported_end(const reports::Report& report) {
  const std::set<uint32_t> reported = reports::processes_of_throws(report.run, report.findings);
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) {
    const std::string& uncaught = report.run.processes[i].fact(FactKey::kUncaught);
    if (uncaught.empty() || uncaught.starts_with("KeyboardInterrupt")) continue;
    if (reported.count(i) == 0) return &uncaught;
  }
  return nullptr;
}

bool is_out_of_memory(const std::string& message) {
  return message.find("CUDA out of memory") != std::string::npos;
}

std::string first_line(const std::string& text) {
  return printable(text.substr(0, text.find('\n')));
}

int could_not_go_on(const std::string& why) {
  print_line("the dry run could not go on here: " + why);
  return kCouldNotDo;
}

uint64_t steps_of(const Run& run) {
  uint64_t steps = 0;
  for (const Process& process : run.processes) steps = std::max(steps, process.steps);
  return steps;
}

// Only what is about dtypes, or LibTorch's own count of memory, is the program's fault; a stub may
// have been asked for something that it cannot answer.
int conclude(const PreflightCommand& command, const Limit& limit,
             const judging::RecordedRun& recorded, const reports::Report& report,
             const ChildEnd& end) {
  const Run& run = recorded.run;
  if (run.processes.empty()) return kCouldNotDo;  // and was said
  if (const Process* process = without_cuda(run)) {
    print_line(
        fmt::format("LibTorch {} here has no CUDA, so nothing ran on a pretended GPU: `dtypecheck "
                    "trace --target cuda:{} -- {}` judges a run on the CPU by CUDA's contracts, or "
                    "install a wheel with CUDA (pip's default on Linux: pip install torch)",
                    process->libtorch, process->libtorch.substr(0, process->libtorch.rfind('.')),
                    fmt::join(command.trace.program, " ")));
    return kCouldNotDo;
  }
  const int found = status_of(report, command.trace.report);
  if (found == kFound) return kFound;
  if (const std::string* message = unreported_end(report)) {
    const std::string raised = first_line(reports::raised_at_last(*message));
    if (!is_out_of_memory(*message)) return could_not_go_on(raised);
    print_line("out of memory on the pretended GPU: " + raised);
    return kFound;
  }
  if (limit.was_reached()) {
    const uint64_t steps = steps_of(run);
    print_line(fmt::format("ended after {} s, with {} of {} steps done; --timeout gives it longer",
                           command.timeout_s, steps, command.steps));
    return steps > 0 ? kClean : kCouldNotDo;
  }
  if (reached_last_step(run)) return kClean;
  if (end.signal == SIGINT) {
    print_line(fmt::format("interrupted, with {} of {} steps done", steps_of(run), command.steps));
    return kCouldNotDo;
  }
  if (end.signal != 0)
    return could_not_go_on(
        fmt::format("killed by signal {} ({})", end.signal, strsignal(end.signal)));
  if (end.exit_status != 0)
    return could_not_go_on(fmt::format("the program ended with status {}", end.exit_status));
  if (steps_of(run) == 0) print_line("the program ended without an optimizer step");
  return kClean;
}

int run(PreflightCommand& command) {
  if (command.trace.program.empty())
    throw InputError("no program to run; for example dtypecheck preflight -- python train.py");
  if (!command.memory.empty()) bytes_of(command.memory);
  if (command.trace.report.fail_on.empty()) command.trace.report.fail_on = "warning";
  if (fs::exists("/dev/nvidiactl"))  // of its driver
    print_line("this machine has a real GPU, which is hidden from the program");
  command.trace.under = {"preflight",
                         "--gpu",
                         command.gpu,
                         "--gpus",
                         std::to_string(command.gpus),
                         "--steps",
                         std::to_string(command.steps),
                         "--timeout",
                         std::to_string(command.timeout_s)};
  if (command.compile) command.trace.under.push_back("--compile");
  if (command.let_write) command.trace.under.push_back("--let-write");
  if (!command.memory.empty())
    command.trace.under.insert(command.trace.under.end(), {"--memory", command.memory});
  command.trace.hook_options = {"pretended", fmt::format("most-steps={}", command.steps)};
  Limit limit;
  command.trace.discard_all = !command.let_write;
  command.trace.change_environment = [&](Environment& environment, const std::string& folder) {
    set_environment(command, environment, folder);
    limit.start(command.timeout_s);
  };
  command.trace.conclude = [&](const judging::RecordedRun& recorded, const reports::Report& report,
                               const ChildEnd& end) {
    return conclude(command, limit, recorded, report, end);
  };
  command.trace.has_ended = [&] { limit.stop(); };
  return run_traced(command.trace);
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<PreflightCommand>();
  options.leave_rest_to(command->trace.program);
  options.add_choice("--gpu", command->gpu, pretended_gpus(), "the GPU to pretend; default: a100");
  options.add("--memory", command->memory, "its memory, such as 24G; default: what that GPU has")
      .type("SIZE");
  options.add("--gpus", command->gpus, "number of GPUs; default: 1").type("N").range(1, 64);
  options
      .add("--steps", command->steps, "end the program after this many optimizer steps; default: 3")
      .type("N")
      .range(1, 100000);
  options
      .add("--timeout", command->timeout_s,
           "end it after this many seconds in any case; default: 600")
      .type("S")
      .range(1, 1000000);
  options.add_flag("--compile", command->compile,
                   "let torch.compile compile; by default its models run eagerly");
  options.add_flag("--let-write", command->let_write,
                   "let the program write its files; by default what it writes is thrown away");
  options.add_flag("--keep-going", command->trace.keep_going,
                   "cast the operands of an op that fails for its dtypes, report it, and go on, so "
                   "that one run shows all of them");
  add_health_option(options, command->trace);
  add_recording_options(options, command->trace.out);
  add_report_options(options, command->trace.report,
                     "file for the findings; default: standard error for text, a file in the run's "
                     "folder for the others",
                     "exit with 1 on findings of this severity or above; default: warning");
  options.add_flag("--no-report", command->trace.no_report,
                   "only record; dtypecheck report judges it later");
  add_finding_options(options, command->trace.report);
  return [command] { return run(*command); };
}

}  // namespace

extern const Command preflight_command = {
    .name = "preflight",
    .summary = "run a program's first steps on a pretended GPU, and report what was found",
    .arguments = "[OPTIONS] [--] PROGRAM [ARGS...]",
    .examples =
        "  dtypecheck preflight -- python train.py --mixed_precision fp16\n"
        "  dtypecheck preflight --gpu h100 --memory 24G --steps 5 -- accelerate launch train.py\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
