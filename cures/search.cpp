#include "cures/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cures/candidates.h"
#include "cures/merit.h"
#include "cures/prose.h"
#include "cures/settings.h"
#include "cures/verdict.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cures {
namespace {

constexpr int kMaxDepth = 5;        // findings that are cured on top of one another
constexpr size_t kMaxPartials = 2;  // tries that died further on, of which one is built upon
constexpr int kForSettings = 2;     // tries that are left for settings, which come behind
constexpr int kMaxFurther = 6;      // runs behind the first proof, for a change of more merit

// In which the loss was lost first, as the program had it; 0: in none.
uint32_t lost_step_of(const Run& run) {
  uint32_t first = 0;
  for (const OpCall& call : run.calls)
    for (const NonFinite& what : call.non_finite)
      if ((what.is_loss || what.is_read) && (first == 0 || what.step < first)) first = what.step;
  return first;
}

class Searcher {
 public:
  Searcher(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
           const Program& program, const SearchOptions& options)
      : findings_(findings), program_(program), options_(options), judge_([this] {
          return run({}, program_, "the repair run once more, rounded differently",
                     {.keep_going = true, .nudge = true});
        }) {
    auto root = std::make_shared<Trial>();
    root->recorded = recorded;
    root->findings = findings;
    root_ = {.trial = root, .program = program};
    judge_.remember(*root);
  }

  Search run() && {
    const std::vector<Process>& processes = root_.run().processes;
    const bool is_cpp = !processes.empty() && processes.front().python.empty();
    if (is_cpp && program_.build.empty()) out_.impossible = kNotBuilt;
    if (!program_.build.empty()) out_.impossible = why_not_built(program_);
    if (!out_.impossible.empty()) return std::move(out_);
    // A run with its values looked at tells where a NaN began.
    bool has_nan = false, is_right = !findings_.empty();
    for (const Finding& finding : findings_) {
      is_right &= finding.severity < Severity::kWarning || costs_only(finding);
      has_nan |= finding.rule == rules::non_finite_loss.doc.id;
      is_refused_ |= finding.severity >= Severity::kError && is_refusal(root_.run(), finding);
    }
    Node from = root_;
    const bool is_compiled = was_compiled();
    if (is_refused_ || has_nan) {
      if (auto repaired = repair_run(is_compiled)) from.trial = std::move(repaired);
    } else if (is_right) {  // what it prints is to stay
      repair_run(is_compiled);
    }
    if (out_.is_interrupted || !out_.impossible.empty()) return std::move(out_);
    settings_ = settings_of(program_, root_.run());
    // An eager run has other op calls than those of the changes, which compile.
    // Of a run that died in its first step nobody knows what the rest computes in.
    const bool is_begun = from.trial->ended_well() || from.trial->steps() > 0;
    if (!is_compiled && is_begun) low_before_ = low_share(from.run(), adapters_of(from.run()));
    solve(from, 0);
    // A repair run looks at no casts, which the recorded one did.
    if (has_nan && !is_refused_ && !is_fixed() && !is_over()) solve(root_, 0);
    return std::move(out_);
  }

 private:
  // ---- runs

  Trial run(const Patch& patch, const Program& program, const std::string& what,
            TrialOptions options) {
    ++out_.runs;
    options.timeout_s = options_.timeout_s;
    if (options_.progress)
      options.progress = [=, this](const std::string& how) {
        options_.progress(what + ": " + how);
      };
    Trial trial = run_trial(patch, program, options);
    out_.is_interrupted |= trial.is_interrupted;
    if (!trial.writes_stay.empty()) out_.writes_stay = trial.writes_stay;
    return trial;
  }

  TrialOptions as_far_as_needed() const {
    const uint64_t steps = judge_.enough_steps();
    return {.enough_steps = steps, .ends_when_steady = steps > 0};
  }

  // A compiler was refused: of its tensors without data nobody knows where they come from.
  bool was_compiled() const {
    return std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) {
      const OpCall* call = root_.run().call(finding.call);
      return call != nullptr && call->outcome == Outcome::kThrew && !was_computed(*call);
    });
  }

  std::shared_ptr<const Trial> repair_run(bool runs_eagerly) {
    Program program = program_;
    if (runs_eagerly) program.environment["TORCHDYNAMO_DISABLE"] = "1";
    auto trial = std::make_shared<Trial>(run({}, program, "the repair run",
                                             {.keep_going = true,
                                              .ends_when_steady = true,
                                              .looked_at_step = lost_step_of(root_.run())}));
    if (trial->is_interrupted) return nullptr;
    if (!trial->problem.empty() || trial->recorded.run.calls.empty()) {
      out_.impossible =
          trial->problem.empty() ? "nothing was recorded: " + trial->last_words : trial->problem;
      return nullptr;
    }
    judge_.remember(*trial);
    judge_.compare_with(trial);
    trial->recorded.sources.add(Sources(root_.trial->recorded.sources));  // it may have been ended
    std::set<std::pair<std::string, int>> lines;
    for (const OpCall& call : trial->recorded.run.calls)
      if (was_let_through(call)) lines.emplace(call.site.line.file, call.site.line.line);
    out_.repair = fmt::format("{} with the operands cast at {} line{}", how_far(*trial),
                              lines.size(), lines.size() == 1 ? "" : "s");
    return next_goal({.trial = trial, .program = program_}) != nullptr ? trial : nullptr;
  }

  // ---- the search

  // What ended the run, then what else is an error, then warnings: what harms results, then weights
  // that do not move, whose cure would hide the others', and then what costs time and memory.
  const Finding* next_goal(const Node& node) const {
    const Finding* next = nullptr;
    for (const Finding& finding : node.trial->findings) {
      if (finding.severity < Severity::kWarning || given_up_.contains(key_of(finding))) continue;
      if (is_refused_ && finding.is_asked_for) continue;
      if (next == nullptr || urgency(finding) > urgency(*next)) next = &finding;
    }
    return next;
  }

  // Where one of several sums is given up the others are not.
  static std::string key_of(const Finding& finding) {
    return name_of(finding) + at_place(finding.site);
  }

  static int urgency(const Finding& finding) {
    if (finding.severity == Severity::kError) return 3;
    if (loses_steps(finding)) return 1;
    return costs_only(finding) ? 0 : 2;
  }

  // True where the program runs to its end with what was found.
  bool solve(const Node& node, int depth) {
    while (depth < kMaxDepth) {
      const Finding* goal = next_goal(node);
      if (goal == nullptr) return false;
      // A change that saves time mends nothing of a program whose numbers are off.
      if (costs_only(*goal) && harm_is_left_) return false;
      if (depth == 0) begun_ = {&node, goal};
      const bool is_proven = cure(node, *goal, depth);
      if (is_proven && (depth > 0 || is_chosen() || is_fixed())) return true;
      const bool is_error = goal->severity == Severity::kError;
      harm_is_left_ |= depth == 0 && !is_proven && urgency(*goal) > 1;
      given_up_.insert(key_of(*goal));
      if (is_error && depth > 0) return false;  // the program dies there
      if (is_over()) return false;
    }
    return false;
  }

  bool is_over() const {
    return out_.is_interrupted || tried_ + reserved_ >= options_.tries || further_ >= kMaxFurther;
  }

  // Nothing is better than what is proven.
  bool is_chosen() const {
    const Try* chosen = out_.chosen();
    return chosen != nullptr && (is_over() || !chosen->merit.has_demerit());
  }

  bool is_fixed() const {
    const Try* chosen = out_.chosen();
    return chosen != nullptr && !chosen->merit.is_workaround();
  }

  bool could_be_chosen(const Merit& at_best) const {
    const Try* chosen = out_.chosen();
    return chosen == nullptr || at_best < chosen->merit;
  }

  bool cure(const Node& node, const Finding& goal, int depth) {
    std::vector<Node> partials, of_settings;
    bool is_proven = false;
    int rank = INT_MIN;
    const auto go_on = [&] {
      is_proven |= solve_one(of_settings, depth);
      if (!is_chosen()) is_proven |= solve_one(partials, depth);
    };
    const Candidates known(root_.run(), findings_, settings_, judge_.trained());
    std::set<const Cure*> other_numbers;  // at all lines alike; at one of them it would be the same
    for (const Candidate& candidate : known.of(node, goal)) {
      const Cure* first = candidate.parts.empty() ? nullptr : candidate.parts.front().second;
      if (other_numbers.contains(first)) continue;
      if (is_over() || is_chosen()) break;
      if (partials.size() >= kMaxPartials && candidate.setting == nullptr) continue;
      // What is begun well is gone on with before a kind of change that nobody would choose first.
      const int last = std::exchange(rank, candidate.rank);
      if (last < candidate.rank && candidate.rank >= kLater) {
        const int before = std::exchange(
            reserved_, depth == 0 && candidate.setting != nullptr ? kForSettings : reserved_);
        go_on();
        reserved_ = before;
      }
      if (is_over() || is_chosen()) break;
      Attempted tried = attempt(node, goal, candidate);
      if (out_.is_interrupted) return false;
      if (tried.judged.reason == Reason::kNumbers && first != nullptr) other_numbers.insert(first);
      if (tried.judged.verdict == Verdict::kProven) {
        is_proven = true;
        if (depth > 0) shorten(node, goal, tried.node);
        // What is left may be curable on top of it; it stands in any case. Nobody casts by hand
        // what is merely promoted for the sake of another cure.
        const Finding* left = next_goal(tried.node);
        if (left != nullptr && !is_beside(*left, is_refused_) &&
            (urgency(*left) > 0 || urgency(goal) == 0))
          solve(tried.node, depth + 1);
      }
      if (tried.judged.reason == Reason::kFurther)
        (candidate.setting ? of_settings : partials).push_back(std::move(tried.node));
    }
    if (!is_chosen()) go_on();
    return is_proven;
  }

  // What overrides nothing first, and then what got furthest, by a name for its dtype; none is left
  // behind. Of a program that came to its end the rules know better which change is begun well.
  bool solve_one(std::vector<Node>& partials, int depth) {
    std::stable_sort(partials.begin(), partials.end(), [this](const Node& a, const Node& b) {
      const auto how_far = [this](const Node& one) {
        const Merit merit = merit_of(one);
        return std::tuple(!merit.overrides, one.trial->steps(), -merit.literals,
                          is_refused_ ? one.run().calls.size() : 0);
      };
      return how_far(a) > how_far(b);
    });
    const std::vector<Node> all = std::exchange(partials, {});
    return std::any_of(all.begin(), all.end(), [&](const Node& partial) {
      const Merit at_best = merit_of(partial);
      return !is_over() && could_be_chosen(at_best) && solve(partial, depth + 1);
    });
  }

  static Merit merit_of(const Node& node) {
    return merit_of_source(node.patch, !node.prompt.empty(), node.changes);
  }

  struct Attempted {
    Node node = {};
    Judgement judged = {};
  };

  Attempted attempt(const Node& node, const Finding& goal, const Candidate& candidate) {
    const Setting* setting = candidate.setting;
    Node next{.program = setting ? setting->program : node.program,
              .prompt = setting ? setting->prompt : node.prompt,
              .changes = node.changes,
              .raises_model = node.raises_model};
    if (setting != nullptr)
      next.changes.push_back({setting->text, {}, goal.message, recorded_id(node, goal)});
    for (const auto& [finding, cure] : candidate.parts) {
      const bool is_first = next.changes.size() == node.changes.size();
      next.changes.push_back({cure->text, cure->where, finding->message,
                              recorded_id(node, *finding), node.patch.last_step() + 1, cure->dtype,
                              is_first ? candidate.place : 0, candidate.overrides});
      next.raises_model |= raises_parameters(*cure);
    }
    Attempted result;
    if (!candidate.ways.front().is_placed()) {
      result.judged.words = candidate.ways.front().reason;
      out_.tries.push_back({next.changes, {}, next.prompt, result.judged});
      return result;
    }
    // A name of the script's own may not have its value yet where the change stands, or another
    // dtype than it seems to: then the program dies of it or is not built, or nothing is cured, and
    // the next way says the same as a constant.
    int failed = 0;
    for (const Patch& way : candidate.ways) {
      Merit merit = Candidates::best_merit(node, candidate, way);
      if (failed > 0) merit.literals = 0;  // no name has it there
      if (!could_be_chosen(merit) || !known_.insert(next.prompt + diff_of(way.edits)).second)
        continue;
      next.patch = way;
      result = run_way(node, goal, next, setting != nullptr, merit);
      const Reason reason = result.judged.reason;
      ++failed;
      const bool is_name = way.demerits().literals < candidate.ways.back().demerits().literals;
      const bool is_not_built = reason == Reason::kNoRun && !program_.build.empty();
      const bool may_differ = reason == Reason::kDies || is_not_built || reason == Reason::kMode ||
                              (reason == Reason::kStill && is_name && candidate.is_of(goal));
      if (!may_differ || is_over()) break;
    }
    return result;
  }

  // Runs what `next` says, which gets the trial, and notes the try.
  Attempted run_way(const Node& node, const Finding& goal, Node next, bool is_setting,
                    Merit merit) {
    ++tried_;
    further_ += out_.chosen() != nullptr;
    const std::string what = fmt::format("try {}, {}", tried_, next.changes.back().text);
    auto trial = std::make_shared<Trial>(run(next.patch, next.program, what, as_far_as_needed()));
    next.trial = trial;
    Judgement judged = judge_.judge(node, goal, next, is_setting);
    // A change on top of another may have brought back what that had cured.
    const auto [first, first_goal] = begun_;
    if (judged.verdict == Verdict::kProven && first_goal != &goal &&
        is_read_as_before(first->run(), *first_goal, next.run()))
      judged = {Verdict::kRefuted, Reason::kStill, "again there: " + described(*first_goal)};
    if (judged.verdict == Verdict::kProven && first_goal != &goal)
      if (const Finding* left = Judge::left_of(*first, *first_goal, next))
        judged = has_further_cause(*first_goal, *left)
                     ? Judgement{Verdict::kCures, Reason::kFurther, "then " + described(*left)}
                     : Judgement{Verdict::kRefuted, Reason::kStill,
                                 "again there: " + described(*first_goal)};
    if (judged.verdict == Verdict::kProven) {
      const std::string broken = broken_mode(next.patch);
      if (!broken.empty()) judged = {Verdict::kRefuted, Reason::kMode, broken};
    }
    if (judged.verdict == Verdict::kProven) {
      LowShare before = low_before_;
      if (!is_refusal(first->run(), *first_goal))
        before.at_line = low_share(first->run(), before.adapters, first_goal->site.line).at_line;
      const bool was_error = is_refused_ || first_goal->severity == Severity::kError;
      add_run(merit, *trial, before, judge_, was_error);
      merit.leaves_cause = Judge::leaves_cause(*first, *first_goal, next);
      const std::string costs = cost_words(merit);
      if (!costs.empty()) judged.words += "; " + costs;
    }
    const bool is_proven = judged.verdict == Verdict::kProven;
    out_.tries.push_back(
        {next.changes, next.patch, next.prompt, judged, merit, is_proven ? trial : nullptr});
    return {std::move(next), std::move(judged)};
  }

  // What was changed on the way to a later change may not be needed any more: what each step
  // changed is put back alone, and stays so where the program is as well without.
  void shorten(const Node& node, const Finding& goal, Node& proven) {
    Merit best = out_.tries.back().merit;
    auto ways = shorter_patches(proven.patch);
    for (size_t i = 0; i < ways.size() && !is_over();) {
      Node next = proven;
      const int step = ways[i].first;
      next.patch = ways[i].second;
      std::erase_if(next.changes, [&](const Change& change) { return change.step == step; });
      if (!known_.insert(next.prompt + diff_of(next.patch.edits)).second) {
        ++i;
        continue;
      }
      Attempted result = run_way(node, goal, next, /*is_setting=*/false, merit_of(next));
      const Try& tried = out_.tries.back();
      ++i;
      if (!tried.is_proven() || !(tried.merit < best)) continue;
      best = tried.merit;
      proven = std::move(result.node);
      ways = shorter_patches(proven.patch);
      i = 0;
    }
  }

  // The program is one setting away from computing in Float. A dtype that a change wrote down may
  // break that: why, or "" where it does not.
  std::string broken_mode(const Patch& patch) {
    const auto other = std::find_if(settings_.begin(), settings_.end(), [](const Setting& its) {
      return its.dtype == Dtype::kFloat && its.patch.edits.empty();
    });
    if (patch.demerits().literals == 0 || other == settings_.end()) return "";
    const auto runs = [](const Trial& trial) { return !trial.end || trial.end->is_success(); };
    const Trial patched =
        run(patch, other->program, "the change with " + other->text, as_far_as_needed());
    if (out_.is_interrupted || runs(patched)) return "";
    if (!float_mode_runs_)
      float_mode_runs_ =
          runs(run({}, other->program, "the program with " + other->text, as_far_as_needed()));
    return *float_mode_runs_ ? fmt::format("breaks {}: {}", other->text, patched.last_words) : "";
  }

  // Of the run that was recorded; a cause that the repair run alone shows stands for what follows
  // from it.
  std::string recorded_id(const Node& node, const Finding& finding) const {
    const Finding* recorded = recorded_alike(findings_, finding);
    for (const Finding& other : node.trial->findings) {
      if (recorded == nullptr && other.follows == finding.id)
        recorded = recorded_alike(findings_, other);
    }
    return recorded == nullptr ? "" : recorded->id;
  }

  const std::vector<Finding>& findings_;
  const Program& program_;
  const SearchOptions& options_;
  Judge judge_;
  Node root_;
  Search out_;
  std::pair<const Node*, const Finding*> begun_;  // whose goal the changes are for
  std::vector<Setting> settings_;
  LowShare low_before_;
  bool harm_is_left_ = false;            // of a finding that was given up
  bool is_refused_ = false;              // the recorded run
  std::optional<bool> float_mode_runs_;  // without a change; asked where one breaks it
  int tried_ = 0, further_ = 0;          // runs with a change, and those behind the first proof
  int reserved_ = 0;                     // of the tries, for settings
  std::set<std::string> given_up_;       // findings
  std::set<std::string> known_;          // changes
};

}  // namespace

const Try* Search::chosen() const {
  const Try* best = nullptr;
  for (const Try& tried : tries)
    if (tried.is_proven() && (best == nullptr || tried.merit < best->merit)) best = &tried;
  return best;
}

const Try* Search::furthest() const {
  const auto cures = [](const Try& tried) { return tried.judged.verdict == Verdict::kCures; };
  const auto last = std::find_if(tries.rbegin(), tries.rend(), cures);
  return last == tries.rend() ? nullptr : &*last;
}

Search search(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
              const Program& program, const SearchOptions& options) {
  return Searcher(recorded, findings, program, options).run();
}

}  // namespace dtypecheck::cures
