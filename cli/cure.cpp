// dtypecheck cure: looks for a change that cures a run's findings by running the program with it;
// applies what it found, and takes it back.
#include "cli/cure.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "core/launch.h"
#include "cures/advice.h"
#include "cures/merit.h"
#include "cures/proven_change.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "platform/text.h"
#include "reports/causes.h"
#include "reports/formatting.h"
#include "reports/judging/judged_report.h"
#include "trace/run_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CureCommand {
  std::string input;
  std::vector<std::string> program;
  std::string build;
  bool json = false, all = false, apply = false, undo = false, verbose = false;
  int tries = 12;
  double timeout_s = 600;
};

std::string printable_lines(const std::string& text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();)
    out += printable(next_piece(rest, '\n')) + "\n";
  return out;
}

// A folder of somebody else's may say anything, and so may a file that he put into one.
bool is_own(const std::string& input) {
  const auto is_mine = [](const std::string& path) {
    struct stat file{};
    return ::stat(path.c_str(), &file) != 0 || file.st_uid == ::geteuid();
  };
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(input, error))
    if (!is_mine(entry.path().string())) return false;
  return is_mine(input);
}

// Who sees what it would do decides.
void require_consent(const std::string& input, const std::string& what, const char* question,
                     const char* else_do) {
  if (is_own(input)) return;
  if (!is_terminal(STDIN_FILENO))
    throw InputError(fmt::format("{}: belongs to another user; {}", input, else_do));
  fmt::print(stderr, "{}{} belongs to another user. {} [y/N] ", printable_lines(what),
             printable(input), question);
  std::string answer;
  if (!std::getline(std::cin, answer) || (answer != "y" && answer != "yes"))
    throw InputError("nothing was done");
}

class Session {
 public:
  Session(const CureCommand& command, const std::string& input)
      : command_(command),
        input_(input),
        recorded_(judging::read_recorded_run({input})),
        report_(judging::judged_report(recorded_, {.all = command.all})) {
    cures::put_placed_first(report_.findings, recorded_);
    for (const reports::CauseTree& cause : reports::causes(report_.findings)) {
      if (cause.finding->severity >= Severity::kWarning) causes_.push_back(cause.finding);
    }
  }

  int run() {
    if (!causes_.empty())
      found_ = look_for_cure(input_, recorded_, report_.findings, program(),
                             {.timeout_s = command_.timeout_s, .tries = command_.tries});
    Output output = open_output("");
    output.stream() << (command_.json
                            ? to_json().dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                            : to_text());
    output.finish();
    return causes_.empty() || found_.chosen() != nullptr ? kClean : kFound;
  }

 private:
  cures::Program program() const {
    cures::Program program = recorded_program();
    program.build = command_.build;
    return program;
  }

  cures::Program recorded_program() const {
    if (!command_.program.empty())
      return {command_.program, fs::current_path().string(), how_it_ran()};
    const RunDescription description = read_run_description(input_);
    if (fs::is_directory(description.folder)) {
      require_consent(
          input_, fmt::format("{}: {}", description.folder, fmt::join(description.command, " ")),
          "Run this?", "give the command to run after --");
      return {description.command, description.folder, description.under, environment_of_program()};
    }
    throw InputError(fmt::format(
        "{}: the folder that the program ran in does not exist any more; give the command after --",
        description.folder));
  }

  // What was set for the run is seldom set again in the shell that asks for a cure. What a launcher
  // set for its children it sets again.
  std::map<std::string, std::string> environment_of_program() const {
    std::map<std::string, std::string> environment;
    const auto started = ended_process_of(input_);
    for (const Process& process : recorded_.run.processes) {
      if (!started || process.pid != started->pid) continue;
      for (const auto& [variable, value] : process.facts_of(FactKey::kEnv))
        if (is_of_program(variable)) environment.emplace(variable, value);
    }
    return environment;
  }

  // Of the same run with another command line; a trace file has none.
  std::vector<std::string> how_it_ran() const {
    try {
      return read_run_description(input_).under;
    } catch (const InputError&) {
      return {};
    }
  }

  std::string to_text() const {
    if (causes_.empty()) return "nothing to cure: no errors, no warnings\n";
    std::string out;
    for (const Finding* cause : causes_) {
      const std::string where = reports::place(cause->site.line);
      out += fmt::format("{:<8}{}{}\n", severity_name(cause->severity), printable(cause->message),
                         where.empty() ? "" : " (" + where + ")");
    }
    if (!found_.impossible.empty())
      return out + fmt::format("nothing is tried: {}\n", found_.impossible);
    if (command_.verbose) out += tries_text();
    const cures::Try* chosen = found_.chosen();
    out += chosen == nullptr ? unproven_text() : proven_text(*chosen) + others_text(*chosen);
    if (found_.tries.empty()) return out;
    out +=
        fmt::format("{} change{} tried in {} run{}{}\n", found_.tries.size(),
                    found_.tries.size() == 1 ? "" : "s", found_.runs, found_.runs == 1 ? "" : "s",
                    command_.verbose ? "" : "; --verbose lists them");
    if (chosen == nullptr || chosen->patch.edits.empty()) return out;
    return out + fmt::format("apply with: dtypecheck cure --apply {}\n", printable(input_));
  }

  std::string tries_text() const {
    std::string out;
    if (!found_.repair.empty())
      out += "repair" + wrapped("run: " + printable(found_.repair), 8).substr(6);
    int number = 0;
    for (const cures::Try& tried : found_.tries) out += try_text(tried, ++number);
    return out;
  }

  // "fix     cast the target …", a line for each of its changes, with what a run of it gave.
  std::string proven_text(const cures::Try& tried) const {
    std::string out;
    const char* label = tried.merit.is_workaround() ? "workaround  " : "fix     ";
    for (const cures::Change& change : tried.changes)
      out += (out.empty() ? label : "        ") + wrapped(printable(change.text), 8).substr(8);
    out += wrapped(printable(fmt::format("proven: {}", tried.judged.words)), 8);
    out += printable_lines(cures::diff_of(tried.patch.edits));
    if (!tried.prompt.empty()) out += fmt::format("run it as: {}\n", printable(tried.prompt));
    return out;
  }

  std::string others_text(const cures::Try& chosen) const {
    std::string out;
    const cures::Try* workaround = found_.workaround();  // stands for all of them
    for (const cures::Try& tried : found_.tries) {
      if (!tried.is_proven() || &tried == &chosen) continue;
      if (tried.merit.is_workaround() && &tried != workaround) continue;
      std::string text;
      for (const cures::Change& change : tried.changes)
        text += (text.empty() ? "" : "; ") + printable(change.text);
      const std::string costs = cures::cost_words(tried.merit);
      out += "also    " +
             wrapped(costs.empty() ? text : fmt::format("{} ({})", text, costs), 8).substr(8);
    }
    return out;
  }

  std::string unproven_text() const {
    if (found_.tries.empty()) {
      const std::string& advice = causes_.front()->fix;
      return advice.empty()
                 ? "no change is known that may cure it\n"
                 : wrapped("no edit is known that may cure it; by hand: " + printable(advice), 0);
    }
    const cures::Try* furthest = found_.furthest();
    const cures::Judgement* why = &found_.tries.back().judged;
    for (const cures::Try& tried : found_.tries) {
      if (tried.judged.verdict != cures::Verdict::kNotTried) why = nullptr;
      if (why != nullptr && tried.judged.reason == cures::Reason::kNoRun) why = &tried.judged;
    }
    if (why != nullptr) return wrapped("nothing could be tried: " + printable(why->words), 0);
    if (furthest == nullptr) return "nothing is proven\n";
    return wrapped(
        fmt::format("nothing is proven; furthest got: {}, {}",
                    printable(furthest->changes.back().text), printable(furthest->judged.words)),
        0);
  }

  std::string try_text(const cures::Try& tried, int number) const {
    std::string out;
    for (const cures::Change& change : tried.changes) {
      const std::string lead = out.empty() ? fmt::format("{:<3} ", number) : "    ";
      out += lead + wrapped(printable(change.text), 4).substr(4);
    }
    return out + wrapped(printable(fmt::format("{}: {}", verdict_name(tried.judged.verdict),
                                               tried.judged.words)),
                         4);
  }

  Json to_json() const {
    Json tries = Json::array(), causes = Json::array();
    for (const Finding* cause : causes_)
      causes.push_back(
          {{"finding", cause->id}, {"rule", cause->rule}, {"message", cause->message}});
    for (const cures::Try& tried : found_.tries) tries.push_back(try_json(tried));
    const cures::Try* best = found_.chosen();
    return {{"run", input_},
            {"causes", std::move(causes)},
            {"repair_run", found_.repair},
            {"runs", found_.runs},
            {"tries", std::move(tries)},
            {"command", best == nullptr ? "" : best->prompt},
            {"verdict", best == nullptr ? "none" : verdict_name(best->judged.verdict)},
            {"is_workaround", best != nullptr && best->merit.is_workaround()},
            {"patch", best == nullptr ? "" : cures::diff_of(best->patch.edits)}};
  }

  static Json try_json(const cures::Try& tried) {
    Json changes = Json::array();
    for (const cures::Change& change : tried.changes) {
      changes.push_back({{"text", change.text},
                         {"file", change.where.file},
                         {"line", change.where.line},
                         {"cures", change.cures},
                         {"finding", change.finding}});
    }
    return {{"changes", std::move(changes)}, {"verdict", verdict_name(tried.judged.verdict)},
            {"reason", tried.judged.words},  {"cost", cures::cost_words(tried.merit)},
            {"command", tried.prompt},       {"patch", cures::diff_of(tried.patch.edits)}};
  }

  const CureCommand& command_;
  std::string input_;
  judging::RecordedRun recorded_;
  reports::Report report_;
  std::vector<const Finding*> causes_;
  cures::Search found_;
};

cures::ProvenChange change_of(const std::string& input) {
  auto change = cures::read_proven_change(input);
  if (!change)
    throw InputError(
        fmt::format("{}: contains no change; look for one with dtypecheck cure {}", input, input));
  return *std::move(change);
}

int apply(const std::string& input) {
  cures::ProvenChange change = change_of(input);
  cures::require_own(change, read_run_description(input));
  if (change.edits.empty())
    throw InputError(fmt::format("no file changes; run it as: {}", change.prompt));
  const std::string diff = cures::what_is_written(change);
  require_consent(input, diff, "Write this?", "apply it on a terminal");
  cures::apply(change);
  cures::write_proven_change(input, change);
  for (const auto& file : change.files)
    print_line(
        fmt::format("{} is changed; the original is in {}; dtypecheck cure --undo {} restores it",
                    printable(file.file), printable(file.copy), printable(input)));
  return print_text(printable_lines(diff));
}

int undo(const std::string& input) {
  cures::ProvenChange change = change_of(input);
  cures::require_own(change, read_run_description(input));
  std::string files;
  for (const auto& file : change.files)
    if (!file.copy.empty()) files += fmt::format("{} from {}\n", file.file, file.copy);
  require_consent(input, files, "Restore these?", "undo it on a terminal");
  cures::undo(change);
  cures::write_proven_change(input, change);
  for (const auto& file : change.files) print_line(printable(file.file) + " is restored");
  return kClean;
}

int run(const CureCommand& command) {
  const std::string input = command.input.empty() ? newest_run_folder() : command.input;
  if (command.apply) return apply(input);
  if (command.undo) return undo(input);
  return Session(command, input).run();
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<CureCommand>();
  options.leave_rest_to(command->program);
  options.add("RUN", command->input, "run folder; default: the newest run in ./dtypecheck-runs")
      .type("");
  options.add_flag("--all", command->all, "cure accepted findings too");
  const Option apply = options.add_flag(
      "--apply", command->apply,
      "write the change that was proven for this run into the sources, and keep copies");
  Option undo = options.add_flag("--undo", command->undo, "restore the sources from these copies");
  undo.excludes(apply);
  options
      .add("--build", command->build,
           "of a program in C++: what builds it, run in the folder where the program ran")
      .type("COMMAND");
  options.add("--tries", command->tries, "number of changes to try; default: 12")
      .type("N")
      .positive();
  options.add("--timeout", command->timeout_s, "seconds for one run of the program; default: 600")
      .type("S")
      .positive();
  options.add_flag("--verbose", command->verbose, "list all that was tried, and what came of it");
  options.add_flag("--json", command->json,
                   "print what was tried, with verdicts and patches, as JSON");
  return [command] { return run(*command); };
}

}  // namespace

cures::Search look_for_cure(const std::string& run_folder, const judging::RecordedRun& recorded,
                            const std::vector<Finding>& findings, const cures::Program& program,
                            cures::SearchOptions options) {
  const bool is_terminal = ::isatty(STDERR_FILENO) != 0;
  if (is_terminal) {
    options.progress = [](const std::string& what) {
      fmt::print(stderr, "\r\033[K{}", printable(what));
    };
  }
  cures::Search found = cures::search(recorded, findings, program, options);
  if (is_terminal) fmt::print(stderr, "\r\033[K");
  if (found.is_interrupted) print_line("interrupted; below is what was tried so far");
  if (!found.writes_stay.empty())
    print_line(
        fmt::format("files that the program writes during a try are kept: {}", found.writes_stay));
  const cures::Try* chosen = found.chosen();
  if (chosen != nullptr && fs::is_directory(run_folder))
    cures::write_proven_change(run_folder, cures::kept(*chosen));
  return found;
}

extern const Command cure_command = {
    .name = "cure",
    .summary = "find a change that cures a run's findings; each is tried by running the program",
    .arguments = "[OPTIONS] [RUN] [-- PROGRAM [ARGS...]]",
    .examples =
        "  dtypecheck cure\n"
        "  dtypecheck cure dtypecheck-runs/20261122-101530-4711 -- python train.py --steps 3\n"
        "  dtypecheck cure --apply dtypecheck-runs/20261122-101530-4711\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
