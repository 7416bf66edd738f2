// dtypecheck attach: records the next steps of a program that is already running.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "cures/advice.h"
#include "platform/child.h"
#include "platform/elf_file.h"
#include "platform/error.h"
#include "platform/install_paths.h"
#include "platform/progress.h"
#include "platform/terminal.h"
#include "reports/judging/judged_report.h"
#include "reports/judging/recorded_run.h"
#include "trace/reader.h"
#include "trace/run_folder.h"
#include "tracer/attach/inject.h"
#include "tracer/attach/running_process.h"
#include "tracer/build/hook_cache.h"

namespace dtypecheck::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = 20ms;
constexpr auto kLongestEnd = 10s;  // until the program's next op, which ends the recording

struct AttachCommand {
  int pid = 0;
  uint32_t steps = 3;
  uint32_t seconds = 60;
  std::string out;
  std::string check_values;
  judging::ReportOptions report{.fail_on = "warning"};
};

volatile std::sig_atomic_t is_interrupted = 0;

// Ctrl-C ends the recording, not this program: what was recorded is reported.
class Interruptible {
 public:
  Interruptible() {
    struct sigaction action{};
    action.sa_handler = [](int) { is_interrupted = 1; };
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
  }
  ~Interruptible() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }
  Interruptible(const Interruptible&) = delete;

 private:
  struct sigaction interrupt_{}, terminate_{};
};

// A tracer for its LibTorch, in the folder; the program would have to wait while one is compiled.
void make_tracer(const attaching::RunningProcess& process, const std::string& hooks) {
  const std::string path = fmt::format("{}/{}.so", hooks, hook_name(process.libtorch.path));
  if (::access(path.c_str(), R_OK) == 0) return;
  const std::string own = own_executable();
  const ChildEnd end =
      run_child(own, {own, "build-hook", "--libtorch", process.libtorch.path, "-o", path},
                current_environment());
  if (!end.is_success())
    throw InputError(fmt::format(
        "process {}: there is no tracer for its LibTorch; it runs on as it was", process.pid));
}

std::string notes_of(const std::string& folder) {
  std::string text;
  for (const std::string& note : judging::untraced_notes(folder)) text += "; " + note;
  return text;
}

class Recording {
 public:
  Recording(const AttachCommand& command, const attaching::RunningProcess& process,
            const RunFolder& folder)
      : command_(command), process_(process), folder_(folder) {}

  // False where it ended before the program's next op, and nothing is recorded.
  bool begin(const std::string& stage1, const std::string& hooks) {
    const auto offset = ElfFile::open(stage1)->symbol_address("dtypecheck_begin");
    if (!offset) throw InputError(fmt::format("{}: not a tracer of this version", stage1));
    std::string options = fmt::format("leave-after={}", command_.steps);
    if (!command_.check_values.empty())
      options += "," + steps_option("check-values", command_.check_values);
    attaching::Injection call(process_, stage1, *offset,
                              attaching::function_in(process_.pid, stage1, "dtypecheck_begin"),
                              {folder_.path(), hooks, own_executable(), options});
    const Progress progress("waiting for the program's next op");
    const auto deadline = Clock::now() + std::chrono::seconds(command_.seconds);
    while (true) {
      switch (call.state()) {
        case attaching::StubState::kReturned:
          if (call.result() == 0) return true;
          throw InputError(fmt::format("process {}: {}{}", process_.pid, reason(call.result()),
                                       notes_of(folder_.path())));
        case attaching::StubState::kNotLoaded:
          call.take_back();
          throw InputError(
              fmt::format("process {}: {} cannot be loaded into it; it runs on as it was",
                          process_.pid, stage1));
        case attaching::StubState::kCalling:
          break;
        case attaching::StubState::kWaiting:
          if (!is_interrupted && Clock::now() < deadline) break;
          call.take_back();
          print_line(fmt::format("process {}: no op ran{}, so nothing was recorded", process_.pid,
                                 is_interrupted ? "" : fmt::format(" in {} s", command_.seconds)));
          return false;
      }
      if (!attaching::is_alive(process_.pid)) {
        print_line(fmt::format("process {} has ended", process_.pid));
        return false;
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  // Until it has made its steps, or the time is over, or Ctrl-C.
  void wait(const std::string& stage1) {
    const Progress progress(fmt::format(
        "recording {} of process {}",
        command_.steps == 1 ? "1 step" : fmt::format("{} steps", command_.steps), process_.pid));
    const auto deadline = Clock::now() + std::chrono::seconds(command_.seconds);
    while (!has_ended()) {
      if (!attaching::is_alive(process_.pid)) return;
      if (is_interrupted || Clock::now() >= deadline) return end(stage1);
      std::this_thread::sleep_for(kLook);
    }
  }

 private:
  static const char* reason(int result) {
    if (result == 4)
      return "another dtypecheck attach is recording it already, or one that was killed, whose "
             "recording ends after its steps";
    return result == 2 ? "no LibTorch is loaded into it" : "it cannot be recorded";
  }

  bool has_ended() const {
    for (const std::string& path : judging::traces_of_folder(folder_.path())) {
      const trace::FileHeader header = read_trace_header(path);
      if (header.pid == process_.pid) return header.end_state != 0;
    }
    return false;
  }

  // The program's next op does it.
  void end(const std::string& stage1) {
    const uint64_t function = attaching::function_in(process_.pid, stage1, "dtypecheck_end");
    attaching::Injection call(process_, stage1, 0, function, {""});
    const auto deadline = Clock::now() + kLongestEnd;
    while (call.state() != attaching::StubState::kReturned && attaching::is_alive(process_.pid)) {
      if (Clock::now() < deadline) {
        std::this_thread::sleep_for(kLook);
        continue;
      }
      print_line(fmt::format("process {} ran no op in {} s; the recording ends with its next one",
                             process_.pid, kLongestEnd / 1s));
      return;  // the slot stays as it is, so that it does
    }
    call.take_back();
  }

  const AttachCommand& command_;
  const attaching::RunningProcess& process_;
  const RunFolder& folder_;
};

int report_on(const AttachCommand& command, const attaching::RunningProcess& process,
              const RunFolder& folder) {
  judging::RecordedRun recorded = judging::read_run_folder(folder.path());
  recorded.sources = Sources::of_run(recorded.run, attaching::started_at(process.pid));
  try {
    recorded.sources.write(folder.path());
  } catch (const OutputError& error) {
    print_line(error.what());
  }
  if (recorded.run.processes.empty()) return kCouldNotDo;
  reports::Report report = judging::judged_report(recorded, command.report);
  cures::put_placed_first(report.findings, recorded);
  const int status = write_result(report, command.report);
  print_line(fmt::format("the trace is in {}", folder.shown_path()));
  return status;
}

int run(const AttachCommand& command) {
  judging::check_report_inputs(command.report);
  const std::string stage1 = preload_library();
  const attaching::RunningProcess process = attaching::inspect_process(command.pid);
  RunFolder folder = RunFolder::attach(command.out, process.command, process.folder);
  std::string why_no_cache;
  const std::string hooks = hook_cache(folder.path(), &why_no_cache);
  make_tracer(process, hooks);
  const Interruptible until_end;
  Recording recording(command, process, folder);
  if (!recording.begin(stage1, hooks)) return kCouldNotDo;
  recording.wait(stage1);
  folder.note_end({.pid = process.pid});
  return report_on(command, process, folder);
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<AttachCommand>();
  options.add("PID", command->pid, "process id").type("").required();
  options.add("--steps", command->steps, "optimizer steps to record; default: 3").type("N");
  options
      .add("--seconds", command->seconds,
           "seconds to wait for the first op, and to record at most; default: 60")
      .type("S");
  add_recording_options(options, command->out, &command->check_values);
  add_all_report_options(options, command->report);
  return [command] { return run(*command); };
}

}  // namespace

extern const Command attach_command = {
    .name = "attach",
    .summary = "record the next steps of a program that is already running, and report them",
    .arguments = "[OPTIONS] PID",
    .examples =
        "  dtypecheck attach 4711\n"
        "  dtypecheck attach 4711 --steps 10 --check-values\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
