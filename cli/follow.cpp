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
#include "trace/run_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {

namespace {

using namespace std::chrono_literals;

// A look takes as long as a report does, and a run of days has large traces: most of the time is
// left to the program, which may be on the same machine.
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

class Follower {
 public:
  Follower(const std::vector<std::string>& inputs, const judging::ReportOptions& options)
      : inputs_(inputs), options_(options), out_(open_output(options.output)) {}

  int run() {
    for (;;) {
      const auto begin = std::chrono::steady_clock::now();
      if (const auto status = look()) return *status;
      const auto took = std::chrono::steady_clock::now() - begin;
      std::this_thread::sleep_for(
          std::max<std::chrono::nanoseconds>(kShortestWait, took * kWaitsPerLook));
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
    fmt::print(stderr, "\rstep {}  {}  {}  {}  {} casts a step", reports::grouped(s.steps),
               reports::counted(s.op_calls, "op call"), reports::counted(s.signatures, "signature"),
               reports::counted(report.findings.size(), "finding"),
               reports::number_text(casts_per_step(report.run, s.steps)));
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
  const bool shows_line_ = is_terminal(STDERR_FILENO);
};

}  // namespace

int follow(const std::vector<std::string>& inputs, const judging::ReportOptions& options) {
  return Follower(inputs, options).run();
}

}  // namespace dtypecheck::cli
