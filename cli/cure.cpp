// dtypecheck cure: what would cure the causes of a run's findings, tried by running the program
// once more for each, with the source changed.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "curing/trial.h"
#include "judging/judged_report.h"
#include "platform/error.h"
#include "platform/output.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "platform/text.h"
#include "reports/causes.h"
#include "reports/words.h"
#include "trace/run_folder.h"

namespace fs = std::filesystem;

namespace dtypecheck::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CureCommand {
  std::string input;
  std::vector<std::string> program;
  bool json = false, all = false, list = false;
  int apply = 0;
  double timeout_s = 600;
};

// A cure of one of the run's causes, and what came of trying it.
struct Candidate {
  int number;  // from 1, over all causes
  const Finding* cause;
  const Cure* cure;
  curing::Patch patch;
  curing::Trial trial;
};

// Those of a cause and of what follows from it, in this order, each once.
void add_candidates(const Finding& cause, const reports::Cause& at, std::vector<Candidate>& out) {
  for (const Cure& cure : at.finding->cures) {
    const auto is_there = [&](const Candidate& candidate) {
      return candidate.cause == &cause && candidate.cure->code == cure.code &&
             candidate.cure->where == cure.where;
    };
    if (std::any_of(out.begin(), out.end(), is_there)) continue;
    out.push_back({static_cast<int>(out.size()) + 1, &cause, &cure, {}, {}});
  }
  for (const reports::Cause& consequence : at.consequences) add_candidates(cause, consequence, out);
}

// The causes that are worth a cure, in the order of the report.
std::vector<const Finding*> causes_in(const reports::Report& report,
                                      std::vector<Candidate>& candidates) {
  std::vector<const Finding*> causes;
  for (const reports::Cause& cause : reports::causes(report.findings)) {
    if (cause.finding->severity < Severity::kWarning) continue;
    causes.push_back(cause.finding);
    add_candidates(*cause.finding, cause, candidates);
  }
  return causes;
}

std::string verdict_words(const Candidate& candidate) {
  const Cure& cure = *candidate.cure;
  if (candidate.trial.proof != curing::Proof::kNotTried)
    return fmt::format("{}: {}", proof_name(candidate.trial.proof), candidate.trial.words);
  const std::string verdict = cure_verdict_name(cure.verdict);
  if (cure.verdict == CureVerdict::kFails) return fmt::format("{}: {}", verdict, cure.reason);
  if (candidate.trial.words.empty()) return verdict;
  return fmt::format("{}; not tried: {}", verdict, candidate.trial.words);
}

class Session {
 public:
  Session(const CureCommand& command, std::string input)
      : command_(command),
        input_(std::move(input)),
        recorded_(judging::read_recorded_run({input_})),
        report_(judging::judged_report(recorded_, {.all = command.all})),
        causes_(causes_in(report_, candidates_)) {
    for (Candidate& candidate : candidates_)
      candidate.patch = curing::make_patch({candidate.cure}, recorded_.run, recorded_.sources,
                                           program_if_known());
  }

  int apply() {
    for (const Candidate& candidate : candidates_) {
      if (candidate.number != command_.apply) continue;
      if (!candidate.patch.is_placed()) {
        throw InputError(fmt::format("cure {}: {}; change it by hand: {}", candidate.number,
                                     candidate.patch.reason, candidate.cure->text));
      }
      const std::vector<std::string> copies = curing::apply(candidate.patch);
      for (size_t i = 0; i < copies.size(); ++i)
        say(fmt::format("{} is changed; as it was it is in {}",
                        printable(candidate.patch.files[i].file), printable(copies[i])));
      return print_text(printable_lines(candidate.patch.diff));
    }
    throw InputError(fmt::format("there is no cure {}; {} has {}", command_.apply, input_,
                                 reports::counted(candidates_.size(), "cure")));
  }

  int prove() {
    if (!command_.list) try_all();
    Output output = open_output("");
    output.stream() << (command_.json
                            ? to_json().dump(2, ' ', false, Json::error_handler_t::replace) + "\n"
                            : to_text());
    output.finish();
    return is_cured() ? kClean : kFound;
  }

 private:
  curing::Program program() const {
    if (!command_.program.empty()) return {command_.program, fs::current_path().string()};
    const RunDescription description = read_run_description(input_);
    if (fs::is_directory(description.folder)) return {description.command, description.folder};
    throw InputError(
        fmt::format("{}: the folder that the program ran in is gone; name the command "
                    "behind --",
                    description.folder));
  }
  curing::Program program_if_known() const {
    try {
      return program();
    } catch (const InputError&) {
      return {};  // told where it is run
    }
  }

  // What came of trying it: 2 proven, or as good as that, 1 cured with a warning behind it.
  static int rank_of(const Candidate& candidate) {
    switch (candidate.trial.proof) {
      case curing::Proof::kProven:
      case curing::Proof::kOtherFindings:
        return 2;
      case curing::Proof::kMoreBehind:
        return 1;
      default:
        return 0;
    }
  }
  // Of a cause; the first of the best, nullptr where none cures it.
  const Candidate* best_of(const Finding* cause) const {
    const Candidate* best = nullptr;
    for (const Candidate& candidate : candidates_) {
      const int rank = candidate.cause == cause ? rank_of(candidate) : 0;
      if (rank > (best == nullptr ? 0 : rank_of(*best))) best = &candidate;
    }
    return best;
  }
  bool is_proven(const Finding* cause) const {
    const Candidate* best = best_of(cause);
    return best != nullptr && rank_of(*best) == 2;
  }
  bool is_cured() const {
    return std::all_of(causes_.begin(), causes_.end(),
                       [&](const Finding* cause) { return best_of(cause) != nullptr; });
  }

  // One after the other: two at a time would take each other's memory and GPU.
  void try_all() {
    if (candidates_.empty()) return;
    const curing::Program program = this->program();
    const bool is_terminal = ::isatty(STDERR_FILENO) != 0;
    for (Candidate& candidate : candidates_) {
      const bool fails = candidate.cure->verdict == CureVerdict::kFails;
      if (!candidate.patch.is_placed()) candidate.trial.words = candidate.patch.reason;
      if (fails || !candidate.patch.is_placed()) continue;
      if (!command_.all && is_proven(candidate.cause)) continue;
      curing::TrialOptions options{.timeout_s = command_.timeout_s};
      if (is_terminal) {
        options.progress = [&](const std::string& what) {
          fmt::print(stderr, "\r\033[Ktrying cure {} of {}: {}", candidate.number,
                     candidates_.size(), what);
        };
      }
      candidate.trial = curing::try_patch(candidate.patch, program, report_.findings, recorded_.run,
                                          *candidate.cause, options);
      if (is_terminal) fmt::print(stderr, "\r\033[K");
    }
  }

  static std::string printable_lines(const std::string& text) {
    std::string out;
    for (std::string_view rest = text; !rest.empty();)
      out += printable(next_piece(rest, '\n')) + "\n";
    return out;
  }

  std::string to_text() const {
    std::string out;
    if (causes_.empty()) out = "nothing to cure: no errors, no warnings\n";
    for (const Finding* cause : causes_) {
      if (!out.empty()) out += "\n";
      out += cause_text(*cause);
    }
    return out;
  }

  std::string cause_text(const Finding& cause) const {
    const std::string where = reports::place(report_, cause.site.line);
    std::string out =
        fmt::format("{:<8}{}{}\n", severity_name(cause.severity), printable(cause.message),
                    where.empty() ? "" : " (" + where + ")");
    if (!cause.why.empty()) out += "why" + wrapped(printable(cause.why), 8).substr(3);
    bool any = false;
    for (const Candidate& candidate : candidates_) {
      if (candidate.cause != &cause) continue;
      any = true;
      out += candidate_text(candidate);
    }
    const Candidate* best = best_of(&cause);
    if (!any) out += "no cure is known for it\n";
    if (best == nullptr) return out;
    return out + printable_lines(best->patch.diff) +
           fmt::format("apply with: dtypecheck cure --apply {} {}\n", best->number,
                       printable(input_));
  }

  // What the cure says; what the change writes in its place, where a call has an argument for it:
  // torch_dtype=torch.float32 for unet.to(dtype=torch.float32).
  static std::string shown_code(const Candidate& candidate) {
    const Cure& cure = *candidate.cure;
    if (cure.code.empty()) return cure.text;
    std::string first;
    std::string_view rest = candidate.patch.diff;
    while (!rest.empty()) {
      const std::string_view line = next_piece(rest, '\n');
      if (!line.starts_with('+') || line.starts_with("+++")) continue;
      if (line.find(cure.code) != line.npos) return cure.code;
      if (first.empty()) first = trimmed(line.substr(1));
    }
    const auto count = [&](char bracket) {
      return std::count(first.begin(), first.end(), bracket);
    };
    while (first.ends_with(',') || (first.ends_with(')') && count(')') > count('(')))
      first.pop_back();
    return first.empty() ? cure.code : first;
  }

  std::string candidate_text(const Candidate& candidate) const {
    const std::string where = reports::place(report_, candidate.cure->where);
    std::string out =
        fmt::format("{:<3} {}{}\n", candidate.number, where.empty() ? "" : where + "  ",
                    printable(shown_code(candidate)));
    return out +
           wrapped(printable(reports::with_short_paths(report_, verdict_words(candidate))), 4);
  }

  Json to_json() const {
    Json causes = Json::array();
    for (const Finding* cause : causes_) {
      Json cures = Json::array();
      for (const Candidate& candidate : candidates_) {
        if (candidate.cause == cause) cures.push_back(candidate_json(candidate));
      }
      causes.push_back({{"finding", cause->id},
                        {"rule", cause->rule},
                        {"message", cause->message},
                        {"cures", std::move(cures)}});
    }
    return {{"run", input_}, {"causes", std::move(causes)}};
  }

  static Json candidate_json(const Candidate& candidate) {
    const Cure& cure = *candidate.cure;
    return {{"number", candidate.number},
            {"kind", cure_kind_name(cure.kind)},
            {"file", cure.where.file},
            {"line", cure.where.line},
            {"code", cure.code},
            {"text", cure.text},
            {"checked", cure_verdict_name(cure.verdict)},
            {"checked_reason", cure.reason},
            {"verdict", proof_name(candidate.trial.proof)},
            {"reason", candidate.trial.words},
            {"patch", candidate.patch.diff}};
  }

  const CureCommand& command_;
  std::string input_;
  judging::RecordedRun recorded_;
  reports::Report report_;
  std::vector<Candidate> candidates_;
  std::vector<const Finding*> causes_;
};

int run(const CureCommand& command) {
  Session session(command, command.input.empty() ? newest_run_folder() : command.input);
  return command.apply > 0 ? session.apply() : session.prove();
}

std::function<int()> set_up(Options& options) {
  auto command = std::make_shared<CureCommand>();
  options.leave_rest_to(command->program);
  options.add("RUN", command->input, "run folder; default: the newest run in ./dtypecheck-runs")
      .type("");
  options.add_flag("--list", command->list, "only list and check the cures; run nothing");
  options.add_flag("--all", command->all,
                   "try the others too where one is proven; accepted findings too");
  options.add("--apply", command->apply, "change the source as cure N says, and keep a copy")
      .type("N")
      .positive();
  options.add("--timeout", command->timeout_s, "seconds for one try; default: 600")
      .type("S")
      .positive();
  options.add_flag("--json", command->json, "every cure with its verdict and patch, as JSON");
  return [command] { return run(*command); };
}

}  // namespace

extern const Command cure_command = {
    .name = "cure",
    .summary = "try what would cure a run's findings, with the sources left as they are",
    .arguments = "[OPTIONS] [RUN] [-- PROGRAM [ARGS...]]",
    .examples =
        "  dtypecheck cure\n"
        "  dtypecheck cure dtypecheck-runs/20261122-101530-4711 -- python train.py --steps 3\n"
        "  dtypecheck cure --apply 2 dtypecheck-runs/20261122-101530-4711\n",
    .set_up = set_up,
    .is_configured = true,
};

}  // namespace dtypecheck::cli
