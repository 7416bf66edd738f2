#include "cures/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>

#include "cures/printed_numbers.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/overlay.h"
#include "platform/temporary_folder.h"
#include "platform/text.h"
#include "reports/judging/judged_report.h"
#include "rules/engine/formatting.h"

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace dtypecheck::cures {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // for a program that was asked to end
constexpr size_t kMaxOutputBytes = 64 << 20;

// The program leads a process group of its own, which Ctrl-C does not reach: it is ended first, and
// then the signal does what it does.
class Interruption {
 public:
  Interruption() {
    received_ = 0;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction note{};
      note.sa_handler = [](int signal) { received_ = signal; };
      ::sigaction(kSignals[i], &note, &before_[i]);
    }
  }
  ~Interruption() {
    for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    if (received_ != 0) ::raise(received_);
  }
  Interruption(const Interruption&) = delete;

  static bool has_come() { return received_ != 0; }

 private:
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
  static inline volatile sig_atomic_t received_ = 0;
  std::array<struct sigaction, kSignals.size()> before_{};
};

std::string value_checks(const TrialOptions& options) {
  const uint32_t step = options.looked_at_step;
  return step < 2 ? "--check-values" : fmt::format("--check-values={}-{}", step - 1, step);
}

// The program with the changed source, running or ended.
class Attempt {
 public:
  Attempt(const Patch& patch, const Program& program, const TrialOptions& options)
      : folder_("cure"), why_writes_stay_(why_not_covered(program.folder)) {
    Environment environment = current_environment();
    const bool is_built = !program.build.empty() && !patch.edits.empty();
    if (!patch.edits.empty()) {  // of what is built too, so that what is recorded has its lines
      add_preload(environment, preloadable(replace_library(), folder_.path()));
      set_variable(environment, "DTYPECHECK_REPLACE", write_sources(patch));
    }
    const bool changes_extension =
        !is_built && std::any_of(patch.edits.begin(), patch.edits.end(),
                                 [](const SourceEdit& edit) { return is_cpp_file(edit.file); });
    if (changes_extension)  // one that is built while the program runs, by the dates of its sources
      set_variable(environment, "TORCH_EXTENSIONS_DIR", in_folder("extensions"));
    // A compiled graph is found again by what it computes, not by what a changed fake kernel says.
    set_variable(environment, "TORCHINDUCTOR_FX_GRAPH_CACHE", "0");
    set_variable(environment, "TORCHINDUCTOR_AUTOGRAD_CACHE", "0");
    for (const auto& [name, value] : program.environment) set_variable(environment, name, value);
    std::vector<std::string> command = {own_executable()};
    if (program.under.empty()) {
      command.insert(command.end(), {"trace", value_checks(options), "--seed", "0"});
      if (why_writes_stay_.empty()) command.push_back("--discard-writes");
    } else {
      command.insert(command.end(), program.under.begin(), program.under.end());
      command.insert(command.end(), {"--fail-on", "never"});
      const bool lets = std::find(program.under.begin(), program.under.end(), "--let-write") !=
                        program.under.end();
      why_writes_stay_ = lets ? "it was run with --let-write" : "";
    }
    command.insert(command.end(), {"--out", run(), "--no-report"});
    if (options.keep_going) command.push_back("--keep-going");
    if (options.nudge && program.under.empty()) command.push_back("--nudge");
    command.push_back("--");
    if (is_built) add_build(patch, program, command);
    command.insert(command.end(), program.command.begin(), program.command.end());
    const Descriptor out = open_output("output"), err = open_output("errors");
    child_ = start_child(command, environment, {out, err}, {program.folder, true});
  }
  ~Attempt() { end(); }
  Attempt(const Attempt&) = delete;

  bool has_ended() {
    if (!end_) end_ = poll_child(child_);
    return end_.has_value();
  }
  double processor_seconds() const { return dtypecheck::processor_seconds(child_); }
  const std::string& why_writes_stay() const { return why_writes_stay_; }
  const ChildEnd& how_it_ended() const { return *end_; }

  template <typename Condition>
  static void wait_until(const Condition& condition, Clock::duration at_most = kPatience) {
    const auto until = Clock::now() + at_most;
    while (!condition() && Clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  // The whole group: launchers and workers are not left behind.
  void end() {
    if (is_over_) return;
    if (!has_ended()) ::kill(-child_, SIGTERM);
    wait_until([&] { return has_ended(); });
    const bool is_left = ::kill(-child_, SIGKILL) == 0;
    if (!end_) end_ = wait_for_child(child_);
    if (is_left) wait_until([&] { return ::kill(-child_, 0) != 0; });
    is_over_ = true;
  }

  judging::RecordedRun recorded() const {
    try {
      return judging::read_run_folder(run());
    } catch (const InputError&) {
      return {};  // nothing was written yet
    }
  }

  std::string printed(const char* stream) const {
    return read_file_if_any(in_folder(stream), kMaxOutputBytes).value_or("");
  }

  // What ended it, where a process of Python's was seen to end by an exception: its launcher's
  // words come last. Else the first error of a compiler, whose build says less at its end, or what
  // it said last; the tracer's own lines only where there is nothing else.
  std::string last_words(const Run& run) const {
    for (const Process& process : run.processes)
      if (!process.fact(FactKey::kUncaught).empty()) return process.fact(FactKey::kUncaught);
    const std::string output = printed("output") + "\n" + printed("errors");
    std::string own, last;
    for (std::string_view rest = output; !rest.empty();) {
      const std::string_view line = trimmed(next_piece(rest, '\n'));
      if (run.calls.empty() && line.find(": error: ") != line.npos) return std::string(line);
      if (!line.empty()) (line.starts_with("dtypecheck: ") ? own : last) = line;
    }
    return last.empty() ? own : last;
  }

 private:
  Descriptor open_output(const char* name) const {
    Descriptor file(::open(in_folder(name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (file < 0) throw InputError(fmt::format("{}: cannot be written", in_folder(name)));
    return file;
  }

  // Below the overlay the sources are overwritten, and then what is built from them is built: its
  // dates are those that a build looks at. The sources are arguments, so that their folders are
  // covered as well.
  void add_build(const Patch& patch, const Program& program,
                 std::vector<std::string>& command) const {
    std::string script;
    std::vector<std::string> files;
    for (const auto& [file, text] : texts_of(patch)) {
      const std::string changed = in_folder(fmt::format("changed.{}", files.size()).c_str());
      replace_file(changed, {text}, {.syncs = false});
      script += fmt::format("cat '{}' >\"$1\" && shift && ", changed);
      files.push_back(fs::canonical(file).string());
    }
    script += fmt::format("{{ {}\n}} >&2 && exec \"$@\"", program.build);
    command.insert(command.end(), {"sh", "-c", script, "sh"});
    command.insert(command.end(), files.begin(), files.end());
  }

  // The file that tells cures/replace/ which text stands for which source.
  std::string write_sources(const Patch& patch) const {
    std::string pairs;
    int number = 0;
    for (const auto& [file, text] : texts_of(patch)) {
      const std::string changed = in_folder(fmt::format("changed.{}", number++).c_str());
      replace_file(changed, {text}, {.syncs = false});
      pairs += fs::canonical(file).string() + '\0' + changed + '\0';
    }
    replace_file(in_folder("list"), {pairs}, {.syncs = false});
    return in_folder("list");
  }

  std::string in_folder(const char* name) const { return folder_.path() + "/" + name; }
  std::string run() const { return in_folder("run"); }

  TemporaryFolder folder_;
  std::string why_writes_stay_;
  pid_t child_ = -1;
  std::optional<ChildEnd> end_;
  bool is_over_ = false;
};

// Nothing new is recorded for as long as half of the time before, and some seconds at least. Where
// others need the machine, a program does less in a second: what it worked counts.
constexpr double kBusy = 4;  // a program that has the machine works a quarter of the time at least

class Novelty {
 public:
  void look_at(const Trial& trial, double seconds, const Progress& least) {
    const Progress now = progress_of(trial.recorded.run);
    if (trial.recorded.run.calls.size() != calls_) {
      calls_ = trial.recorded.run.calls.size();
      since_s_ = seconds;
      since_ = now;
    }
    if (reached_s_ < 0 && now.has_reached(least)) reached_s_ = seconds;
    constexpr double kLeast_s = 10;
    is_over_ = calls_ > 0 && reached_s_ >= 0 && seconds - reached_s_ > kLeast_s &&
               seconds - since_s_ > std::max(kLeast_s, since_s_ / 2);
  }
  bool is_over() const { return is_over_; }
  Progress since() const { return since_; }

 private:
  size_t calls_ = 0;
  double since_s_ = 0, reached_s_ = -1;
  Progress since_;
  bool is_over_ = false;
};

}  // namespace

Progress progress_of(const Run& run) {
  Progress most;
  for (const Process& process : run.processes) {
    most.steps = std::max(most.steps, process.steps);
    most.op_calls = std::max(most.op_calls, process.events);
  }
  return most;
}

std::string why_not_built(const Program& program) {
  const std::string why = why_not_covered(program.folder);
  return why.empty()
             ? ""
             : fmt::format(
                   "a build would change your files, which is kept from them by an overlay: {}",
                   why);
}

Trial run_trial(const Patch& patch, const Program& program, const TrialOptions& options) {
  Trial trial;
  try {
    const Interruption interruption;
    Attempt attempt(patch, program, options);
    const auto begun = Clock::now();
    Novelty novelty;
    // The trace is read while it grows only where somebody asks what is in it.
    const bool is_followed = options.may_end_after || options.progress;
    const auto is_over = [&] { return attempt.has_ended() || interruption.has_come(); };
    auto pause = std::chrono::milliseconds(100);
    bool is_enough = false;
    while (!is_enough && !is_over()) {
      Attempt::wait_until(is_over, pause);
      pause = std::min(pause * 5 / 4, std::chrono::milliseconds(2000));
      const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
      if (is_over()) break;
      if (is_followed) trial.recorded = attempt.recorded();
      novelty.look_at(trial, std::min(seconds, kBusy * attempt.processor_seconds()),
                      options.may_end_after.value_or(Progress()));
      trial.is_timed_out = seconds > options.timeout_s;
      is_enough = trial.is_timed_out || (options.may_end_after && novelty.is_over());
      if (options.progress)
        options.progress(fmt::format("{:.0f} s, {} steps", seconds, trial.steps()));
    }
    const bool has_ended = attempt.has_ended();
    attempt.end();
    trial.is_interrupted = interruption.has_come();
    if (trial.is_interrupted) return trial;
    if (has_ended) trial.end = attempt.how_it_ended();
    trial.till_steady = novelty.since();
    if (options.may_end_after) {
      auto& [steps, op_calls] = trial.till_steady;
      steps = std::max(steps, options.may_end_after->steps);
      op_calls = std::max(op_calls, options.may_end_after->op_calls);
    }
    trial.recorded = attempt.recorded();
    trial.findings = judging::judged_report(trial.recorded, {}).findings;
    trial.last_words = attempt.last_words(trial.recorded.run);
    trial.numbers = numbers_in(attempt.printed("output"));
    if (trial.numbers.empty() && trial.ended_well())
      trial.numbers = last_loss_in(attempt.printed("errors"));
    trial.writes_stay = attempt.why_writes_stay();
  } catch (const InputError& error) {
    trial.problem = error.what();
  } catch (const fs::filesystem_error& error) {
    trial.problem = error.what();
  }
  return trial;
}

}  // namespace dtypecheck::cures
