#include "cli/follow.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "judging/recorded_run.h"
#include "ops/ops.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/terminal.h"
#include "reports/lines.h"
#include "reports/summary.h"
#include "reports/words.h"
#include "trace/reader.h"
#include "trace/run_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A look takes as long as a report does, and a run of days has large traces: most of the time is
// left to the program, which may be on the same machine. A trace grows where an op call is new,
// which after the first steps is seldom: until then its header alone is read.
constexpr auto kShortestWait = 1s;
constexpr int kWaitsPerLook = 20;

bool is_folder(const std::string& path) {
  std::error_code none;
  return fs::is_directory(path, none);
}

bool has_ended(const std::vector<std::string>& inputs, const Run& run) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const std::string& input) {
                       return is_folder(input) && ended_process_of(input).has_value();
                     }) ||
         (!run.processes.empty() &&
          std::none_of(run.processes.begin(), run.processes.end(), [&](const Process& process) {
            return reports::has_no_end(run, process) && process.signal == 0;
          }));
}

double casts_per_step(const Run& run, uint64_t steps) {
  uint64_t casts = 0;
  for (const OpCall& call : run.calls) {
    const bool casts_floating = (ops::facts_of(call.op) & ops::kCast) != 0 &&
                                !call.operands.empty() && !call.results.empty() &&
                                call.operands.front().is_floating() &&
                                call.results.front().is_floating() &&
                                call.operands.front().dtypes != call.results.front().dtypes;
    if (casts_floating) casts += call.count;
  }
  return static_cast<double>(casts) / static_cast<double>(std::max<uint64_t>(steps, 1));
}

// How far a trace is, by what is cheap to ask.
struct TraceState {
  std::string path;
  uint64_t bytes = 0;
  int64_t changed = 0;  // of a text trace, which has no header: when it was written
  bool is_ended = false;

  bool operator==(const TraceState&) const = default;
};

struct RunState {
  std::vector<TraceState> traces;
  std::vector<bool> ended;  // by input, of the programs that dtypecheck trace started
  uint64_t steps = 0, events = 0;

  // No op call is new, no process ended, and counts, which some findings need, have not grown much.
  bool is_as_good_as(const RunState& now) const {
    const auto is_near = [](uint64_t was, uint64_t is) { return is <= was + was / 2; };
    return traces == now.traces && ended == now.ended && is_near(steps, now.steps) &&
           is_near(events, now.events);
  }
};

void add_trace(const std::string& path, RunState& state) {
  std::error_code none;
  if (fs::path(path).extension() == ".trace") {
    state.traces.push_back({path, fs::file_size(path, none),
                            fs::last_write_time(path, none).time_since_epoch().count(), false});
    return;
  }
  try {
    const trace::FileHeader header = read_trace_header(path);
    state.traces.push_back({path, header.used_bytes, 0, header.end_state != 0});
    state.steps = std::max(state.steps, header.steps);
    state.events += header.events;
  } catch (const InputError&) {
    state.traces.push_back({path});
  }
}

RunState state_of(const std::vector<std::string>& inputs) {
  RunState state;
  for (const std::string& input : inputs) {
    state.ended.push_back(is_folder(input) && ended_process_of(input).has_value());
    if (!is_folder(input)) {
      add_trace(input, state);
      continue;
    }
    std::error_code none;
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(input, none)) {
      const fs::path kind = entry.path().extension();
      if (kind == ".dtrace" || kind == ".trace") files.insert(entry.path());
    }
    for (const std::string& file : files) add_trace(file, state);
  }
  return state;
}

class Follower {
 public:
  Follower(const std::vector<std::string>& inputs, const judging::ReportOptions& options)
      : inputs_(inputs), options_(options), out_(open_output(options.output)) {}

  int run() {
    for (auto next_look = Clock::now();; std::this_thread::sleep_for(kShortestWait)) {
      const RunState now = state_of(inputs_);
      const bool is_due =
          Clock::now() >= next_look && !(looked_at_ && looked_at_->is_as_good_as(now));
      if (!is_due) {
        show_progress(now);
        continue;
      }
      const auto begin = Clock::now();
      if (const auto status = look()) return *status;
      looked_at_ = now;
      next_look = Clock::now() + (Clock::now() - begin) * kWaitsPerLook;
    }
  }

 private:
  // The exit status, when the run has ended.
  std::optional<int> look() {
    const std::optional<judging::RecordedRun> recorded = read();
    if (!recorded) return std::nullopt;
    const reports::Report report = judging::judged_report(*recorded, options_);
    clear_line();
    for (const Finding& finding : report.findings) {
      if (known_.insert(finding.id).second) {
        out_.stream() << reports::line_of(report, finding) << '\n' << std::flush;
      }
    }
    if (!has_ended(inputs_, recorded->run)) {
      show_line(report);
      return std::nullopt;
    }
    out_.finish();
    say(reports::verdict(report));
    return status_of(report, options_);
  }

  // Nothing before the first op; what is wrong with a name is said when the run has not begun.
  std::optional<judging::RecordedRun> read() {
    try {
      return judging::read_recorded_run(inputs_);
    } catch (const InputError&) {
      const bool may_come = std::all_of(
          inputs_.begin(), inputs_.end(),
          [](const std::string& input) { return is_folder(input) && !ended_process_of(input); });
      if (!may_come) throw;
      return std::nullopt;
    }
  }

  void show_line(const reports::Report& report) {
    if (!shows_line_) return;
    const reports::Summary s = reports::summarize(report);
    steps_ = s.steps;
    rest_of_line_ =
        fmt::format("  {}  {}  {}  {} casts a step", reports::counted(s.op_calls, "op call"),
                    reports::counted(s.signatures, "signature"),
                    reports::counted(report.findings.size(), "finding"),
                    reports::number_text(casts_per_step(report.run, s.steps)));
    print_line();
  }

  // Between two looks the steps alone go on.
  void show_progress(const RunState& state) {
    if (!shows_line_ || rest_of_line_.empty() || state.steps <= steps_) return;
    steps_ = state.steps;
    print_line();
  }

  void print_line() {
    fmt::print(stderr, "\r\x1b[Kstep {}{}", reports::grouped(steps_), rest_of_line_);
    std::fflush(stderr);
  }

  void clear_line() {
    if (!shows_line_) return;
    fmt::print(stderr, "\r\x1b[K");
    std::fflush(stderr);
  }

  const std::vector<std::string>& inputs_;
  const judging::ReportOptions& options_;
  Output out_;
  std::set<std::string> known_;
  std::optional<RunState> looked_at_;
  uint64_t steps_ = 0;
  std::string rest_of_line_;  // on the terminal, behind the steps
  const bool shows_line_ = is_terminal(STDERR_FILENO);
};

}  // namespace

int follow(const std::vector<std::string>& inputs, const judging::ReportOptions& options) {
  return Follower(inputs, options).run();
}

}  // namespace dtypecheck::cli
