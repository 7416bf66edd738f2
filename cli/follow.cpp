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

// A look takes as long as a report of what it reads does, and a run of days has large traces: most
// of the time is left to the program, which may be on the same machine. A trace grows where an op
// call is new, which after the first steps is seldom: until then its header alone is read, and then
// this trace and no other is judged anew. All of them together, for what only shows between ranks,
// are looked at less often.
constexpr auto kShortestWait = 1s;
constexpr int kWaitsPerLook = 20, kWaitsPerWholeLook = 200;

bool has_ended(const std::vector<std::string>& inputs, const Run& run) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const std::string& input) {
                       return is_folder(input) && ended_process_of(input).has_value();
                     }) ||
         (!run.processes.empty() &&
          std::none_of(run.processes.begin(), run.processes.end(), [&](const Process& process) {
            return has_no_end(run, process) && process.signal == 0;
          }));
}

// What the terminal shows of a trace.
struct Counts {
  uint64_t op_calls = 0, signatures = 0, casts = 0;
};

bool casts_floating(const OpCall& call) {
  return (ops::facts_of(call.op) & ops::kCast) != 0 && !call.operands.empty() &&
         !call.results.empty() && call.operands.front().is_floating() &&
         call.results.front().is_floating() &&
         call.operands.front().dtypes != call.results.front().dtypes;
}

// How far a trace is, by what is cheap to ask.
struct TraceState {
  std::string path;
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

  // Those of which a look at `before` does not tell all.
  std::set<std::string> news_since(const RunState& before) const {
    std::set<std::string> news;
    for (const auto& [path, trace] : traces) {
      const auto was = before.traces.find(path);
      if (was == before.traces.end() || !was->second.is_as_good_as(trace)) news.insert(path);
    }
    return news;
  }
};

TraceState trace_state(const std::string& path) {
  std::error_code none;
  if (fs::path(path).extension() == ".trace") {
    return {path, fs::file_size(path, none),
            fs::last_write_time(path, none).time_since_epoch().count()};
  }
  try {
    const trace::FileHeader header = read_trace_header(path);
    return {path, header.used_bytes, 0, header.end_state != 0, header.steps, header.events};
  } catch (const InputError&) {
    return {path};
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
      const std::set<std::string> news = now.news_since(looked_at_);
      const bool is_whole = news.size() == now.traces.size() || looked_at_.ended != now.ended ||
                            has_ended(now) || Clock::now() >= next_whole_look_;
      const bool is_due =
          Clock::now() >= next_look &&
          (!news.empty() || looked_at_.ended != now.ended || (is_whole && news_between_ranks_));
      if (!is_due) {
        show_progress(now);
        continue;
      }
      const auto begin = Clock::now();
      if (const auto status = look(now, is_whole ? std::set<std::string>() : news)) return *status;
      const auto time = Clock::now() - begin;
      next_look = begin + time * (kWaitsPerLook + 1);
      if (is_whole) next_whole_look_ = begin + time * kWaitsPerWholeLook;
      news_between_ranks_ = !is_whole;
      looked_at_.ended = now.ended;
      for (const std::string& path : news) looked_at_.traces[path] = now.traces.at(path);
    }
  }

 private:
  static bool has_ended(const RunState& state) {
    return !state.traces.empty() &&
           std::all_of(state.traces.begin(), state.traces.end(),
                       [](const auto& trace) { return trace.second.is_ended; });
  }

  // At these traces, or at all. The exit status, when the run has ended.
  std::optional<int> look(const RunState& state, const std::set<std::string>& traces) {
    const std::optional<judging::RecordedRun> recorded = read(traces);
    if (!recorded) return std::nullopt;
    const reports::Report report = judging::judged_report(*recorded, options_);
    clear_line();
    for (const Finding& finding : report.findings) {
      if (known_.insert(finding.id).second) {
        out_.stream() << reports::line_of(finding) << '\n' << std::flush;
      }
    }
    if (!traces.empty() || !cli::has_ended(inputs_, recorded->run)) {
      count(recorded->run);
      show_line(state);
      return std::nullopt;
    }
    out_.finish();
    say(reports::headline(report));
    return status_of(report, options_);
  }

  // Nothing before the first op; what is wrong with a name is said when the run has not begun.
  std::optional<judging::RecordedRun> read(const std::set<std::string>& traces) {
    try {
      return judging::read_recorded_run(inputs_, traces);
    } catch (const InputError&) {
      const bool may_come = std::all_of(
          inputs_.begin(), inputs_.end(),
          [](const std::string& input) { return is_folder(input) && !ended_process_of(input); });
      if (!may_come) throw;
      return std::nullopt;
    }
  }

  void count(const Run& run) {
    note_nearest_to_end(run);
    for (const Process& process : run.processes) counts_[process.file] = {};
    for (const OpCall& call : run.calls) {
      Counts& counts = counts_[run.process_of(call).file];
      ++counts.signatures;
      counts.op_calls += call.count;
      if (casts_floating(call)) counts.casts += call.count;
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

  void show_line(const RunState& state) {
    if (!shows_line_) return;
    Counts all;
    for (const auto& [file, counts] : counts_) {
      all.op_calls += counts.op_calls;
      all.signatures += counts.signatures;
      all.casts += counts.casts;
    }
    steps_ = state.steps();
    const auto steps = static_cast<double>(std::max<uint64_t>(steps_, 1));
    rest_of_line_ = fmt::format("  {}  {}  {}  {}", reports::counted(all.op_calls, "op call"),
                                reports::counted(all.signatures, "signature"),
                                reports::counted(known_.size(), "finding"),
                                reports::casts_a_step(static_cast<double>(all.casts) / steps)) +
                    nearest_to_end_;
    print_line();
  }

  // Between two looks the steps alone go on.
  void show_progress(const RunState& state) {
    if (!shows_line_ || rest_of_line_.empty() || state.steps() <= steps_) return;
    steps_ = state.steps();
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
  RunState looked_at_;
  Clock::time_point next_whole_look_;
  bool news_between_ranks_ = false;  // since all traces were looked at together
  std::map<std::string, Counts> counts_;
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
