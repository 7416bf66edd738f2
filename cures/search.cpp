#include "cures/search.h"

#include <algorithm>
#include <climits>
#include <list>
#include <set>
#include <tuple>
#include <utility>

#include "cures/attempts.h"
#include "cures/candidates.h"
#include "cures/merit.h"
#include "cures/prose.h"
#include "cures/verdict.h"
#include "rules/cures/cures.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cures {
namespace {

constexpr int kMaxDepth = 5;        // findings that are cured on top of one another
constexpr size_t kMaxPartials = 2;  // tries that died further on, of which one is built upon
constexpr int kForSettings = 2;     // tries that are left for settings, which come behind

// Which finding of a run is cured next.
class Goals {
 public:
  // Where the recorded run was refused, what a command line asks for is none.
  bool is_refused = false;

  // What ended the run, then what else is an error, then warnings: what harms results, of these
  // first what knows more than a number that is off, then weights that do not move, whose cure
  // would hide the others', and then what costs time and memory.
  const Finding* next(const Node& node) const {
    const Finding* next = nullptr;
    for (const Finding& finding : node.trial->findings) {
      if (finding.severity < Severity::kWarning || given_up_.contains(key_of(finding))) continue;
      if (is_refused && finding.is_asked_for) continue;
      if (next == nullptr || urgency(finding) > urgency(*next)) next = &finding;
    }
    return next;
  }

  static int urgency(const Finding& finding) {
    if (finding.severity == Severity::kError) return 4;
    if (loses_steps(finding)) return 1;
    if (costs_only(finding)) return 0;
    return finding.rule == rules::far_from_float.doc.id ? 2 : 3;
  }

  void give_up(const Finding& goal) { given_up_.insert(key_of(goal)); }

 private:
  // Where one of several sums is given up the others are not.
  static std::string key_of(const Finding& finding) {
    return name_of(finding) + at_place(finding.site);
  }

  std::set<std::string> given_up_;
};

class Searcher {
 public:
  Searcher(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
           const Program& program, const SearchOptions& options)
      : findings_(findings), program_(program), attempts_(findings, program, options) {
    auto root = std::make_shared<Trial>();
    root->recorded = recorded;
    root->findings = findings;
    root_ = {.trial = root, .program = program};
    attempts_.judge.remember(*root);
  }

  Search run() && {
    Search& found = attempts_.found;
    const std::vector<Process>& processes = root_.run().processes;
    const bool is_cpp = !processes.empty() && processes.front().python.empty();
    if (is_cpp && program_.build.empty()) found.impossible = kNotBuilt;
    if (!program_.build.empty()) found.impossible = why_not_built(program_);
    if (!found.impossible.empty()) return std::move(found);
    // A run with its values looked at tells where a NaN began.
    bool has_nan = false, is_right = !findings_.empty();
    for (const Finding& finding : findings_) {
      is_right &= finding.severity < Severity::kWarning || costs_only(finding);
      has_nan |= finding.rule == rules::non_finite_loss.doc.id;
      goals_.is_refused |= finding.severity >= Severity::kError && is_refusal(root_.run(), finding);
    }
    Node from = root_;
    const bool is_compiled = was_compiled();
    if (goals_.is_refused || has_nan) {
      const auto repaired = attempts_.repair(*root_.trial, is_compiled);
      const Node node{.trial = repaired, .program = program_};
      if (repaired && goals_.next(node) != nullptr) from = node;
    } else if (is_right) {  // what it prints is to stay
      attempts_.repair(*root_.trial, is_compiled);
    }
    if (found.is_interrupted || !found.impossible.empty()) return std::move(found);
    // An eager run has other op calls than those of the changes, which compile.
    // Of a run that died in its first step nobody knows what the rest computes in.
    const bool is_begun = !goals_.is_refused || from.trial->ended_well() || from.trial->steps() > 0;
    LowShare before;
    if (!is_compiled && is_begun) before = low_share(from.run(), adapters_of(from.run()));
    attempts_.begin(root_.run(), goals_.is_refused, before);
    solve(from, 0);
    // A repair run looks at no casts, which the recorded one did.
    if (has_nan && !goals_.is_refused && !attempts_.is_fixed() && !attempts_.is_over())
      solve(root_, 0);
    return std::move(found);
  }

 private:
  // A compiler was refused: of its tensors without data nobody knows where they come from.
  bool was_compiled() const {
    return std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) {
      const OpCall* call = root_.run().call(finding.call);
      return call != nullptr && call->outcome == Outcome::kThrew && !was_computed(*call);
    });
  }

  // True where the program runs to its end with what was found.
  bool solve(const Node& node, int depth) {
    while (depth < kMaxDepth) {
      const Finding* goal = goals_.next(node);
      if (goal == nullptr) return false;
      // A change that saves time mends nothing of a program whose numbers are off.
      if (costs_only(*goal) && harm_is_left_) return false;
      if (depth == 0) attempts_.aim(node, *goal);
      const bool is_proven = cure(node, *goal, depth);
      if (is_proven && (depth > 0 || attempts_.is_chosen() || attempts_.is_fixed())) return true;
      const bool is_error = goal->severity == Severity::kError;
      harm_is_left_ |= depth == 0 && !is_proven && Goals::urgency(*goal) > 1;
      goals_.give_up(*goal);
      if (is_error && depth > 0) return false;  // the program dies there
      if (attempts_.is_over()) return false;
    }
    return false;
  }

  bool cure(const Node& node, const Finding& goal, int depth) {
    std::vector<Node> partials, of_settings;
    bool is_proven = false;
    int rank = INT_MIN;
    const auto go_on = [&] {
      is_proven |= solve_one(of_settings, depth);
      if (!attempts_.is_chosen()) is_proven |= solve_one(partials, depth);
    };
    const Candidates known(root_.run(), findings_, attempts_.settings, attempts_.judge.trained());
    std::set<const Cure*> other_numbers;  // at all lines alike; at one of them it would be the same
    for (const Candidate& candidate : known.for_finding(node, goal)) {
      const Cure* first = candidate.parts.empty() ? nullptr : candidate.parts.front().second;
      if (other_numbers.contains(first)) continue;
      if (attempts_.is_over() || attempts_.is_chosen()) break;
      const bool is_alike =
          candidate.setting == nullptr && (goals_.is_refused || candidate.is_of(goal));
      if (partials.size() >= kMaxPartials && is_alike) continue;
      // What is begun well is gone on with before a kind of change that nobody would choose first.
      const int last = std::exchange(rank, candidate.rank);
      if (last < candidate.rank && candidate.rank >= kLater) {
        const int before = attempts_.reserved();
        if (depth == 0 && candidate.setting != nullptr) attempts_.reserve(kForSettings);
        go_on();
        attempts_.reserve(before);
      }
      if (attempts_.is_over() || attempts_.is_chosen()) break;
      Attempted tried = attempts_.attempt(node, goal, candidate);
      if (attempts_.found.is_interrupted) return false;
      if (tried.judged.reason == Reason::kNumbers && first != nullptr) other_numbers.insert(first);
      if (tried.judged.verdict == Verdict::kProven) {
        is_proven = true;
        if (depth > 0) attempts_.shorten(node, goal, tried.node);
        if (attempts_.found.tries.back().merit.is_workaround()) lower_again(tried.node, goal);
        // What is left may be curable on top of it; it stands in any case. Nobody casts by hand
        // what is merely promoted for the sake of another cure.
        const Finding* left = goals_.next(tried.node);
        if (left != nullptr && !is_beside(*left, goals_.is_refused) &&
            (Goals::urgency(*left) > 0 || Goals::urgency(goal) == 0))
          solve(tried.node, depth + 1);
      }
      if (tried.judged.reason == Reason::kFurther)
        (candidate.setting ? of_settings : partials).push_back(std::move(tried.node));
    }
    if (!attempts_.is_chosen()) go_on();
    return is_proven;
  }

  // What overrides nothing first, and then what got furthest, by a name for its dtype, and what
  // holds for all who call a model; none is left behind. Of a program that came to its end the
  // rules know better which change is begun well.
  bool solve_one(std::vector<Node>& partials, int depth) {
    std::stable_sort(partials.begin(), partials.end(), [this](const Node& a, const Node& b) {
      const auto how_far = [this](const Node& one) {
        const Merit merit = merit_of_source(one);
        return std::tuple(!merit.overrides, one.trial->steps(), -merit.literals, -merit.place,
                          goals_.is_refused ? one.run().calls.size() : 0, is_in_forward(one));
      };
      return how_far(a) > how_far(b);
    });
    const std::vector<Node> all = std::exchange(partials, {});
    return std::any_of(all.begin(), all.end(), [&](const Node& partial) {
      const Merit at_best = merit_of_source(partial);
      return !attempts_.is_over() && attempts_.could_be_chosen(at_best) &&
             solve(partial, depth + 1);
    });
  }

  // Float weights were given, and all is computed in Float with them: autocast is what computes in
  // 16 bits with such weights.
  void lower_again(const Node& node, const Finding& goal) {
    const bool is_set = !node.prompt.empty() || node.patch.edits.empty();  // by an option
    const bool may_be = !is_set && node.trial->steps() > 0 && !attempts_.is_over();
    const auto cure = may_be ? autocast_for_raised(node.run()) : std::nullopt;
    if (!cure) return;
    raised_.push_back({.message = "what ran in 16 bits runs in Float", .cures = {*cure}});
    const Finding& raised = raised_.back();
    Candidate candidate{.parts = {{&raised, &raised.cures.front()}}};
    candidate.ways = make_patches({candidate.parts}, node.run(), node.trial->recorded.sources,
                                  node.program, node.patch)
                         .front();
    Attempted lowered = attempts_.attempt(node, goal, candidate);
    if (lowered.judged.verdict == Verdict::kProven)
      attempts_.shorten(node, goal, lowered.node);  // what was cast for 16-bit weights
  }

  static bool is_in_forward(const Node& node) {
    return !node.changes.empty() && rules::is_in_forward(node.changes.back().where);
  }

  const std::vector<Finding>& findings_;
  const Program& program_;
  Node root_;
  Goals goals_;
  Attempts attempts_;
  bool harm_is_left_ = false;  // of a finding that was given up
  std::list<Finding> raised_;  // what autocast was tried for
};

}  // namespace

static const Try* best_of(const std::vector<Try>& tries, bool of_workarounds) {
  const Try* best = nullptr;
  for (const Try& tried : tries) {
    const bool counts = tried.is_proven() && (!of_workarounds || tried.merit.is_workaround());
    if (counts && (best == nullptr || tried.merit < best->merit)) best = &tried;
  }
  return best;
}

const Try* Search::chosen() const { return best_of(tries, /*of_workarounds=*/false); }
const Try* Search::workaround() const { return best_of(tries, /*of_workarounds=*/true); }

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
