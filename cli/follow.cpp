#include "cli/follow.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "cli/exit_status.h"
#include "cli/report_options.h"
#include "core/dtype_range.h"
#include "core/health.h"
#include "core/whole_run.h"
#include "ops/ops.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "reports/cast_table.h"
#include "reports/formatting.h"
#include "reports/judging/recorded_run.h"
#include "reports/lines.h"
#include "reports/summary.h"
#include "trace/reader.h"
#include "trace/run_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// A look takes as long as a report does, and a run of days has large traces: most of the time is
// left to the program, which may be on the same machine. A trace grows where an op call is new,
// which after the first steps is seldom: until then the headers alone are read.
constexpr auto kShortestWait = 1s;
constexpr int kWaitsPerLook = 20;

bool has_ended(const std::vector<std::string>& inputs, const Run& run) {
  return std::ranges::all_of(inputs,
                             [](const std::string& input) {
                               return is_folder(input) && ended_process_of(input).has_value();
                             }) ||
         (!run.processes.empty() &&
          std::ranges::none_of(run.processes, [&](const Process& process) {
            return has_no_end(run, process) && process.signal == 0;
          }));
}

bool casts_floating(const OpCall& call) {
  return (ops::facts_of(call.op) & ops::kCast) != 0 && !call.operands.empty() &&
         !call.results.empty() && call.operands.front().is_floating() &&
         call.results.front().is_floating() &&
         call.operands.front().dtypes != call.results.front().dtypes;
}

// How far a trace is, by what is cheap to ask.
struct TraceState {
  uint64_t bytes = 0;
  int64_t changed = 0;  // of a text trace, which has no header: when it was written
  bool is_ended = false;
  uint64_t steps = 0, events = 0;

  // No op call is new, it has not ended, and counts, which some findings need, have not grown much.
  bool is_as_good_as(const TraceState& now) const {
    const auto is_near = [](uint64_t was, uint64_t is) { return is <= was + was / 2; };
    return bytes == now.bytes && changed == now.changed && is_ended == now.is_ended &&
           is_near(steps, now.steps) && is_near(events, now.events);
  }
};

struct RunState {
  std::map<std::string, TraceState> traces;  // by path
  std::vector<bool> ended;  // by input, of the programs that dtypecheck trace started

  uint64_t steps() const {
    uint64_t most = 0;
    for (const auto& [path, trace] : traces) most = std::max(most, trace.steps);
    return most;
  }

  bool is_as_good_as(const RunState& now) const {
    return ended == now.ended && std::equal(traces.begin(), traces.end(), now.traces.begin(),
                                            now.traces.end(), [](const auto& was, const auto& is) {
                                              return was.first == is.first &&
                                                     was.second.is_as_good_as(is.second);
                                            });
  }
};

TraceState trace_state(const std::string& path) {
  std::error_code none;
  if (fs::path(path).extension() == ".trace") {
    return {fs::file_size(path, none), fs::last_write_time(path, none).time_since_epoch().count()};
  }
  try {
    const trace::FileHeader header = read_trace_header(path);
    return {header.used_bytes, 0, header.end_state != 0, header.steps, header.events};
  } catch (const InputError&) {
    return {};
  }
}

RunState state_of(const std::vector<std::string>& inputs) {
  RunState state;
  const auto add = [&](const std::string& path) { state.traces[path] = trace_state(path); };
  for (const std::string& input : inputs) {
    state.ended.push_back(is_folder(input) && ended_process_of(input).has_value());
    if (!is_folder(input)) {
      add(input);
      continue;
    }
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(input, none)) {
      const fs::path kind = entry.path().extension();
      if (kind == ".dtrace" || kind == ".trace") add(entry.path());
    }
  }
  return state;
}

class Follower {
 public:
  Follower(const std::vector<std::string>& inputs, const judging::ReportOptions& options)
      : inputs_(inputs), options_(options), out_(open_growing_output(options.output)) {}

  int run() {
    for (auto next_look = Clock::now();; std::this_thread::sleep_for(kShortestWait)) {
      const RunState now = state_of(inputs_);
      const auto begin = Clock::now();
      if (begin < next_look || looked_at_.is_as_good_as(now)) {
        show_progress(now);
        continue;
      }
      if (const auto status = look(now)) return *status;
      next_look = begin + (Clock::now() - begin) * (kWaitsPerLook + 1);
      looked_at_ = now;
    }
  }

 private:
  // The exit status, when the run has ended.
  std::optional<int> look(const RunState& state) {
    const std::optional<judging::RecordedRun> recorded = read();
    if (!recorded) return std::nullopt;
    const reports::Report report = judging::judged_report(*recorded, options_);
    clear_line();
    for (const Finding& finding : report.findings) {
      if (known_.insert(finding.id).second) {
        out_.stream() << reports::line_of(finding) << '\n' << std::flush;
      }
    }
    if (!has_ended(inputs_, recorded->run)) {
      show_line(recorded->run, state);
      return std::nullopt;
    }
    out_.finish();
    print_line(reports::headline(report));
    return status_of(report, options_);
  }

  // Nothing before the first op; what is wrong with a name is said when the run has not begun.
  std::optional<judging::RecordedRun> read() {
    try {
      return judging::read_recorded_run(inputs_);
    } catch (const InputError&) {
      const bool may_come = std::ranges::all_of(inputs_, [](const std::string& input) {
        return is_folder(input) && !ended_process_of(input);
      });
      if (!may_come) throw;
      return std::nullopt;
    }
  }

  // Of what trace --health follows, in the last step that was looked at.
  void note_nearest_to_end(const Run& run) {
    double nearest = 0;
    for (const HealthRow& row : run.health) {
      const DtypeRange* range = narrow_range(row.dtype);
      if (range == nullptr || row.points.empty()) continue;
      const double share = row.points.back().largest / range->largest;
      if (share <= nearest) continue;
      nearest = share;
      nearest_to_end_ = fmt::format("  largest {} {:.3g} in {}", dtype_name(row.dtype),
                                    row.points.back().largest, printable(place_of(row, run)));
    }
  }

  void show_line(const Run& run, const RunState& state) {
    if (!shows_line_) return;
    note_nearest_to_end(run);
    uint64_t op_calls = 0, casts = 0;
    for (const OpCall& call : run.calls) {
      op_calls += call.count;
      if (casts_floating(call)) casts += call.count;
    }
    steps_ = state.steps();
    const auto steps = static_cast<double>(std::max<uint64_t>(steps_, 1));
    rest_of_line_ = fmt::format("  {}  {}  {}  {}", reports::counted(op_calls, "op call"),
                                reports::counted(run.calls.size(), "signature"),
                                reports::counted(known_.size(), "finding"),
                                reports::casts_a_step(static_cast<double>(casts) / steps)) +
                    nearest_to_end_;
    redraw();
  }

  // Between two looks the steps alone go on.
  void show_progress(const RunState& state) {
    if (!shows_line_ || rest_of_line_.empty() || state.steps() <= steps_) return;
    steps_ = state.steps();
    redraw();
  }

  void redraw() {
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
  RunState looked_at_;
  uint64_t steps_ = 0;
  std::string nearest_to_end_;
  std::string rest_of_line_;  // on the terminal, behind the steps
  const bool shows_line_ = is_terminal(STDERR_FILENO);
};

}  // namespace

int follow(const std::vector<std::string>& inputs, const judging::ReportOptions& options) {
  return Follower(inputs, options).run();
}

}  // namespace dtypecheck::cli
