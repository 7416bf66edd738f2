#include "curing/trial.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "judging/judged_report.h"
#include "platform/child.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/install_paths.h"
#include "platform/temporary_folder.h"
#include "platform/text.h"

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

namespace dtypecheck::curing {
namespace {

constexpr auto kPatience = std::chrono::seconds(10);  // for a program that was asked to end
constexpr uint64_t kMoreSteps = 2;  // the one where the finding was, and the one behind it
constexpr size_t kMaxOutputBytes = 64 << 20;

// The program leads a process group of its own, which Ctrl-C does not reach: it is ended first, and
// then the signal does what it does.
class Interruption {
 public:
  Interruption() {
    received_ = 0;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      struct sigaction note {};
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

// The program with the changed source, running or ended.
class Attempt {
 public:
  Attempt(const Patch& patch, const Program& program) : folder_("cure") {
    const std::string list = in_folder("list");
    std::string pairs;
    for (const ChangedFile& file : patch.files) {
      const std::string changed = fmt::format("{}{}", in_folder("changed"), pairs.size());
      replace_file(changed, {file.text}, {.syncs = false});
      pairs += fs::canonical(file.file).string() + '\0' + changed + '\0';
    }
    replace_file(list, {pairs}, {.syncs = false});

    Environment environment = current_environment();
    add_preload(environment, preloadable(replace_library(), folder_.path()));
    set_variable(environment, "DTYPECHECK_REPLACE", list);
    std::vector<std::string> command = {own_executable(), "trace",          "--out", run(),
                                        "--no-report",    "--check-values", "--"};
    command.insert(command.end(), program.command.begin(), program.command.end());
    const int output = ::open(in_folder("output").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (output < 0) throw InputError(fmt::format("{}: cannot be written", in_folder("output")));
    child_ = start_child(command, environment, {output, output}, {program.folder, true});
    ::close(output);
  }
  ~Attempt() { end(); }
  Attempt(const Attempt&) = delete;

  bool has_ended() {
    if (!end_) end_ = poll_child(child_);
    return end_.has_value();
  }
  const ChildEnd& how_it_ended() const { return *end_; }

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

  // What it said last; the tracer's own lines only where there is nothing else.
  std::string last_words() const {
    const std::string output = read_file_if_any(in_folder("output"), kMaxOutputBytes).value_or("");
    std::string own, last;
    for (std::string_view rest = output; !rest.empty();) {
      const std::string_view line = trimmed(next_piece(rest, '\n'));
      if (!line.empty()) (line.starts_with("dtypecheck: ") ? own : last) = line;
    }
    return last.empty() ? own : last;
  }

 private:
  template <typename Condition>
  static void wait_until(const Condition& condition) {
    const auto patience = Clock::now() + kPatience;
    while (!condition() && Clock::now() < patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }

  std::string in_folder(const char* name) const { return folder_.path() + "/" + name; }
  std::string run() const { return in_folder("run"); }

  TemporaryFolder folder_;
  pid_t child_ = -1;
  std::optional<ChildEnd> end_;
  bool is_over_ = false;
};

uint64_t steps_of(const Run& run) {
  uint64_t steps = 0;
  for (const Process& process : run.processes) steps = std::max(steps, process.steps);
  return steps;
}

// Lines move when a source is changed, so ids do not serve.
std::string name_of(const Finding& finding) { return finding.rule + "\n" + finding.message; }

std::set<std::string> names_of(const std::vector<Finding>& findings) {
  std::set<std::string> names;
  for (const Finding& finding : findings) names.insert(name_of(finding));
  return names;
}

std::string told(const Finding& finding) {
  return fmt::format("{} ({}{})", finding.message, finding.rule, at_place(finding.site));
}

std::string seen(const Run& run) {
  const uint64_t steps = steps_of(run);
  if (steps == 0) return fmt::format("{} op calls", run.calls.size());
  return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
}

// An op there was called before. Lines move when a source is changed.
bool was_reached(const Run& before, const Run& run, const Finding& finding) {
  const OpCall* call = run.call(finding.call);
  if (call == nullptr) return true;
  return std::any_of(before.calls.begin(), before.calls.end(), [&](const OpCall& other) {
    return other.op == call->op && other.site.module == call->site.module &&
           other.site.phase == call->site.phase && other.site.line.file == call->site.line.file &&
           other.site.line.function == call->site.line.function;
  });
}

// What is to be told first of what the attempt found; nothing where there is nothing.
std::optional<Trial> fault_in(const std::vector<Finding>& now, const std::set<std::string>& before,
                              const std::set<std::string>& consequences, const Run& recorded,
                              const Run& run, const Finding& cured) {
  const auto is_same = [&](const Finding& finding) {
    const std::string name = name_of(finding);
    return name == name_of(cured) || consequences.contains(name);
  };
  if (const auto same = std::find_if(now.begin(), now.end(), is_same); same != now.end())
    return Trial{Proof::kStillThere, told(*same)};
  const Finding* behind = nullptr;  // what the recorded run did not live to see
  for (const Finding& finding : now) {
    if (finding.severity < Severity::kWarning || before.contains(name_of(finding))) continue;
    const bool is_value = finding.rule == "first-non-finite";
    if (!is_value && finding.severity == Severity::kWarning &&
        !was_reached(recorded, run, finding)) {
      if (behind == nullptr) behind = &finding;
      continue;
    }
    return Trial{is_value ? Proof::kNotFinite : Proof::kNewFinding, told(finding)};
  }
  for (const Finding& finding : now) {
    if (finding.severity == Severity::kError) return Trial{Proof::kOtherFindings, told(finding)};
  }
  if (behind != nullptr)
    return Trial{Proof::kMoreBehind, fmt::format("{}; behind it {}", seen(run), told(*behind))};
  return std::nullopt;
}

}  // namespace

const char* proof_name(Proof proof) {
  switch (proof) {
    case Proof::kNotTried:
      return "not tried";
    case Proof::kProven:
      return "proven";
    case Proof::kOtherFindings:
    case Proof::kMoreBehind:
      return "cures this";
    case Proof::kStillThere:
      return "still there";
    case Proof::kNewFinding:
      return "new finding";
    case Proof::kDied:
      return "dies";
    case Proof::kNotFinite:
      return "not finite";
    case Proof::kNoEnd:
      return "no end";
  }
  return "not tried";
}

Trial try_patch(const Patch& patch, const Program& program, const std::vector<Finding>& before,
                const Run& before_run, const Finding& cured, const TrialOptions& options) {
  if (!patch.is_placed()) return {Proof::kNotTried, patch.reason};
  try {
    const Interruption interruption;
    Attempt attempt(patch, program);
    const auto begun = Clock::now();
    const auto deadline = begun + std::chrono::duration<double>(options.timeout_s);
    const uint64_t enough = cured.first_step + kMoreSteps;
    bool is_enough = false;
    auto pause = std::chrono::milliseconds(250);
    while (!attempt.has_ended() && !is_enough && Clock::now() < deadline &&
           !interruption.has_come()) {
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 5 / 4, std::chrono::milliseconds(2000));
      const uint64_t steps = steps_of(attempt.recorded().run);
      is_enough = steps >= enough;
      if (options.progress) {
        const std::chrono::duration<double> s = Clock::now() - begun;
        options.progress(fmt::format("{:.0f} s, {} of {} steps", s.count(), steps, enough));
      }
    }
    const bool has_ended = attempt.has_ended();
    attempt.end();
    if (interruption.has_come()) return {Proof::kNotTried, "interrupted"};

    const judging::RecordedRun recorded = attempt.recorded();
    const std::vector<Finding> now = judging::judged_report(recorded, {}).findings;
    std::vector<Finding> consequences;
    std::copy_if(before.begin(), before.end(), std::back_inserter(consequences),
                 [&](const Finding& finding) { return finding.follows == cured.id; });
    const auto fault =
        fault_in(now, names_of(before), names_of(consequences), before_run, recorded.run, cured);
    const bool is_over = fault && fault->proof != Proof::kMoreBehind;
    if (is_over) return *fault;
    const ChildEnd& end = attempt.how_it_ended();
    if (has_ended && !end.is_success()) return {Proof::kDied, attempt.last_words()};
    if (fault) return *fault;
    if (recorded.run.calls.empty())
      return {Proof::kNotTried, "nothing was recorded: " + attempt.last_words()};
    if (!has_ended && !is_enough)
      return {Proof::kNoEnd, fmt::format("{} in {:.0f} s; allow more with --timeout",
                                         seen(recorded.run), options.timeout_s)};
    return {Proof::kProven, fmt::format("{}, {}", seen(recorded.run),
                                        now.empty() ? "no findings" : "no new findings")};
  } catch (const InputError& error) {
    return {Proof::kNotTried, error.what()};
  } catch (const fs::filesystem_error& error) {
    return {Proof::kNotTried, error.what()};
  }
}

}  // namespace dtypecheck::curing
