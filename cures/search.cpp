#include "cures/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cures/settings.h"
#include "ops/ops.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::cures {
namespace {

constexpr int kMaxDepth = 5;        // findings that are cured on top of one another
constexpr size_t kMaxPartials = 2;  // tries that died further on, of which one is built upon
constexpr int kMaxShorter = 6;      // runs without what a step changed, beside the tries
constexpr double kNear = 0.1;       // two runs print the same loss, as far as 16 bits go
constexpr double kSame = 1e-4;      // … the same program twice, whose threads add up in any order

// Lines move when a source is changed, so ids do not serve.
// Another run measures another share of weights that did not move: a finding that was measured is
// called by its place.
std::string name_of(const Finding& finding) {
  const rules::Rule* rule = rules::find_rule(finding.rule);
  const bool is_measured = rule != nullptr && rule->says_shares;
  return finding.rule + "\n" + (is_measured ? finding.site.line.function : finding.message);
}

std::string described(const Finding& finding) {
  return fmt::format("{} ({}{})", finding.message, finding.rule, at_place(finding.site));
}

bool is_refusal(const Run& run, const Finding& finding) {
  const OpCall* call = run.call(finding.call);
  return call != nullptr && (call->outcome == Outcome::kThrew || was_let_through(*call));
}

// The trained parameters of a run with the dtype that an op read them in.
std::map<std::string, DtypeSet> trained_parameters(const Run& run) {
  std::map<std::string, DtypeSet> dtypes;
  for (const OpCall& call : run.calls) {
    for (const Operand& operand : call.operands) {
      if (operand.requires_grad && operand.is_leaf && is_parameter(operand))
        dtypes[operand.parameter] |= operand.dtypes;
    }
  }
  return dtypes;
}

// A trained parameter that kept more digits before; "" where none lost any.
std::string lowered_parameter(const std::map<std::string, DtypeSet>& before, const Run& now) {
  for (const auto& [name, dtypes] : trained_parameters(now)) {
    const auto was = before.find(name);
    if (was != before.end() && !was->second.intersects(kLowPrecision) &&
        dtypes.intersects(kLowPrecision))
      return name;
  }
  return "";
}

// A run of the program with a patch, of which findings are to be cured.
struct Node {
  std::shared_ptr<const Trial> trial;
  Program program;
  std::string prompt;  // of the program, where a setting changed it
  Patch patch;
  std::vector<Change> changes;
  std::vector<Patch> steps = {};  // the patches that led here, this one the last
  bool raises_model = false;      // one of the changes casts parameters to Float

  const Run& run() const { return trial->recorded.run; }
};

// Cures that go into one patch, each of a finding; or a setting.
struct Candidate {
  std::vector<std::pair<const Finding*, const Cure*>> parts;
  const Setting* setting = nullptr;
  int rank = 0;  // of the kind of change
};

class Searcher {
 public:
  Searcher(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
           const Program& program, const SearchOptions& options)
      : findings_(findings), program_(program), options_(options) {
    auto root = std::make_shared<Trial>();
    root->recorded = recorded;
    root->findings = findings;
    root_ = {root, program, "", {}, {}};
    remember(*root);
  }

  Search run() && {
    const bool is_refused =
        std::any_of(findings_.begin(), findings_.end(), [&](const Finding& finding) {
          // A run with its values looked at tells where a NaN began.
          return finding.severity == Severity::kError &&
                 (is_refusal(root_.run(), finding) ||
                  finding.rule == rules::non_finite_loss.doc.id);
        });
    Node from = root_;
    if (is_refused) {
      if (auto repaired = repair_run()) from.trial = std::move(repaired);
    }
    settings_ = settings_of(program_, root_.run());
    if (!out_.is_interrupted) solve(from, 0);
    return std::move(out_);
  }

 private:
  // What all runs with unpatched sources had: a patched one may have it as well.
  void remember(const Trial& trial) {
    for (const Finding& finding : trial.findings) known_.insert(name_of(finding));
    for (auto& [name, dtypes] : trained_parameters(trial.recorded.run)) trained_[name] |= dtypes;
    for (const OpCall& call : trial.recorded.run.calls) reached_.insert(place_of(call));
  }

  // An op there was called. Lines move when a source is changed.
  static std::string place_of(const OpCall& call) {
    return fmt::format("{}\n{}\n{}\n{}\n{}", call.op, call.site.module,
                       static_cast<int>(call.site.phase), call.site.line.file,
                       call.site.line.function);
  }

  std::shared_ptr<const Trial> repair_run() {
    auto trial = std::make_shared<Trial>(run_trial({}, program_,
                                                   {.timeout_s = options_.timeout_s,
                                                    .keep_going = true,
                                                    .ends_when_steady = true,
                                                    .progress = progress("the repair run")}));
    out_.is_interrupted = trial->is_interrupted;
    if (trial->is_interrupted) return nullptr;
    out_.writes_stay = trial->writes_stay;
    if (!trial->problem.empty() || trial->recorded.run.calls.empty()) {
      out_.repair = trial->problem.empty() ? "nothing was recorded" : trial->problem;
      return nullptr;
    }
    remember(*trial);
    trial->recorded.sources.add(Sources(root_.trial->recorded.sources));  // it may have been ended
    // Not its steps to the moment when it was ended: those tell how fast the machine was.
    if (!trial->end) enough_steps_ = std::max<uint64_t>(trial->steps_till_steady, 1);
    const bool is_sound =
        std::none_of(trial->findings.begin(), trial->findings.end(), [](const Finding& finding) {
          return finding.rule == rules::first_non_finite.doc.id || loses_steps(finding);
        });
    if (trial->ended_well() && is_sound) repaired_ = trial;
    std::set<std::pair<std::string, int>> lines;
    for (const OpCall& call : trial->recorded.run.calls)
      if (was_let_through(call)) lines.emplace(call.site.line.file, call.site.line.line);
    out_.repair = fmt::format("{} with the operands cast at {} line{}", how_far(*trial),
                              lines.size(), lines.size() == 1 ? "" : "s");
    const bool has_goal = next_goal({trial, program_, "", {}, {}}) != nullptr;
    return has_goal ? trial : nullptr;
  }

  static std::string how_far(const Trial& trial) {
    const uint64_t steps = trial.steps();
    const std::string seen =
        steps == 0 ? "" : fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
    if (trial.ended_well()) return seen.empty() ? "it ran to its end" : seen + " to its end";
    if (trial.end)
      return fmt::format("{}; then it died: {}", seen.empty() ? "it ran" : seen, trial.last_words);
    return (seen.empty() ? "it ran" : seen) + std::string("; its end was not reached");
  }

  std::function<void(const std::string&)> progress(const std::string& what) const {
    if (!options_.progress) return nullptr;
    return [=, this](const std::string& how) { options_.progress(what + ": " + how); };
  }

  // What ended the run, then what else is an error, then warnings: what harms weights or results
  // before what costs time and memory.
  const Finding* next_goal(const Node& node) const {
    const Finding* next = nullptr;
    for (const Finding& finding : node.trial->findings) {
      if (finding.severity < Severity::kWarning || given_up_.contains(name_of(finding))) continue;
      if (next == nullptr || urgency(finding) > urgency(*next)) next = &finding;
    }
    return next;
  }

  static int urgency(const Finding& finding) {
    if (finding.severity == Severity::kError) return 2;
    const rules::Rule* rule = rules::find_rule(finding.rule);
    return rule != nullptr && rule->costs_only ? 0 : 1;
  }

  // True where the program runs to its end with what was found.
  bool solve(const Node& node, int depth) {
    while (depth < kMaxDepth) {
      const Finding* goal = next_goal(node);
      if (goal == nullptr) return false;
      if (cure(node, *goal, depth)) return true;
      const bool is_error = goal->severity == Severity::kError;
      given_up_.insert(name_of(*goal));
      if (is_error && depth > 0) return false;  // the program dies there
      if (is_over()) return false;
    }
    return false;
  }

  bool is_over() const { return out_.is_interrupted || runs_ >= options_.tries; }

  bool cure(const Node& node, const Finding& goal, int depth) {
    std::vector<Node> partials, of_settings;
    int rank = 0;
    bool is_proven = false;  // by a change with which steps are still lost
    for (const Candidate& candidate : candidates(node, goal)) {
      if (is_over() || partials.size() >= kMaxPartials) break;
      // What is begun well is gone on with before a kind of change that nobody would choose first.
      const int last = std::exchange(rank, candidate.rank);
      if (last < candidate.rank && last > kAsksFor16Bits && !is_proven &&
          (solve_one(of_settings, depth) || solve_one(partials, depth)))
        return true;
      auto [child, verdict, is_further] = attempt(node, goal, candidate);
      if (out_.is_interrupted) return false;
      if (verdict == Verdict::kProven && is_proven && out_.tries.back().loses_steps) {
        out_.tries.back().verdict = Verdict::kCures;  // no better than what was proven before
      } else if (verdict == Verdict::kProven) {
        if (depth > 0) shorten(node, goal, child);
        // What is left may be curable on top of it; it stands in any case. Nobody casts by hand
        // what is merely promoted for the sake of another cure.
        const Finding* left = next_goal(child);
        if (left != nullptr && (urgency(*left) > 0 || urgency(goal) == 0)) solve(child, depth + 1);
        // Another setting may be a cure that loses no steps.
        is_proven = true;
        const bool may_go_on = candidate.setting != nullptr || loses_steps(goal);
        if (!may_go_on || !out_.best()->loses_steps) return true;
      }
      if (is_further) (candidate.setting ? of_settings : partials).push_back(std::move(child));
    }
    return is_proven || solve_one(of_settings, depth) || solve_one(partials, depth);
  }

  // What was changed on the way to a later change may not be needed any more: what each step
  // changed is put back alone, and stays so where the program is as well without.
  void shorten(const Node& node, const Finding& goal, Node& proven) {
    std::vector<Shorter> ways = shorter_patches(proven.patch, proven.steps, proven.run());
    Try best = std::move(out_.tries.back());  // stays the last
    out_.tries.pop_back();
    int runs = 0;
    for (size_t i = 0; i < ways.size() && runs < kMaxShorter && !out_.is_interrupted;) {
      Try tried{.changes = without(proven.changes, ways[i].restored),
                .patch = ways[i].patch,
                .prompt = proven.prompt};
      if (!patches_.insert(tried.prompt + tried.patch.diff).second) {
        ++i;
        continue;
      }
      ++runs;
      Attempted result = run_way(node, goal, proven.program, /*is_setting=*/false, tried);
      if (result.verdict == Verdict::kProven) {
        if (const std::string lost = lost_without(*result.node.trial, *proven.trial); !lost.empty())
          tried.verdict = result.verdict = Verdict::kRefuted, tried.words = lost;
      }
      if (result.verdict == Verdict::kProven) {
        std::swap(best, tried);
        result.node.steps = std::move(proven.steps);
        proven = std::move(result.node);
        ways = shorter_patches(proven.patch, proven.steps, proven.run());
        i = 0;
      } else {
        ++i;
      }
      out_.tries.push_back(std::move(tried));
    }
    out_.tries.push_back(std::move(best));
  }

  // What the longer change does and the shorter does not; "" where that is nothing.
  static std::string lost_without(const Trial& shorter, const Trial& longer) {
    if (has_autocast(longer.recorded.run) && !has_autocast(shorter.recorded.run))
      return "nothing is computed in 16 bits any more";
    std::set<std::string> known;
    for (const Finding& finding : longer.findings) known.insert(name_of(finding));
    for (const Finding& finding : shorter.findings) {
      if (finding.severity >= Severity::kWarning && !known.contains(name_of(finding)))
        return "left: " + described(finding);
    }
    return "";
  }

  // What stands nearest to the line goes; changes above it may have moved it.
  static std::vector<Change> without(std::vector<Change> changes,
                                     const std::vector<SourceLine>& lines) {
    for (const SourceLine& line : lines) changes = without(std::move(changes), line);
    return changes;
  }
  static std::vector<Change> without(std::vector<Change> changes, const SourceLine& line) {
    const auto distance = [&](const Change& change) {
      return change.where.file == line.file ? std::abs(change.where.line - line.line) : INT_MAX;
    };
    const auto nearest = std::min_element(
        changes.begin(), changes.end(),
        [&](const Change& a, const Change& b) { return distance(a) < distance(b); });
    if (nearest == changes.end() || distance(*nearest) == INT_MAX) return changes;
    const SourceLine where = nearest->where;
    std::erase_if(changes, [&](const Change& change) {
      return change.where.file == where.file && change.where.line == where.line;
    });
    return changes;
  }

  // The ones that got furthest first; none is left behind.
  bool solve_one(std::vector<Node>& partials, int depth) {
    std::stable_sort(partials.begin(), partials.end(), [](const Node& a, const Node& b) {
      return std::pair(a.trial->steps(), a.run().calls.size()) >
             std::pair(b.trial->steps(), b.run().calls.size());
    });
    const std::vector<Node> all = std::exchange(partials, {});
    return std::any_of(all.begin(), all.end(), [&](const Node& partial) {
      return !is_over() && solve(partial, depth + 1);
    });
  }

  // Each cure of the goal and of what follows from it. One that acts where an op is called goes to
  // all calls that are refused alike.
  std::vector<Candidate> candidates(const Node& node, const Finding& goal) const {
    std::vector<Candidate> all;
    std::set<std::string> known;
    const auto add = [&](const Finding& finding) {
      for (const Cure& cure : finding.cures) {
        if (!known.insert(cure.text).second || is_harmful(node.run(), cure)) continue;
        if (cure.kind == CureKind::kCastResult && is_changed_there(node, cure)) continue;
        Candidate candidate{{{&finding, &cure}}};
        add_alike(node, goal, cure, candidate);
        const bool is_several = candidate.parts.size() > 1;
        all.push_back(std::move(candidate));
        if (is_several) all.push_back({{{&finding, &cure}}});
      }
    };
    add_settings(node, Dtype::kBFloat16, all);
    add_settings(node, Dtype::kHalf, all);
    add(goal);
    for (const Finding& finding : node.trial->findings)
      if (finding.follows == goal.id) add(finding);
    const size_t edits = all.size();
    add_settings(node, Dtype::kFloat, all);
    const bool has_float_setting = all.size() > edits;
    const bool is_lone = has_lone_trained_low_parameter(node, goal);
    for (Candidate& candidate : all)
      candidate.rank =
          rank_of(node, candidate, has_float_setting) + (is_lone && lowers(candidate) ? 5 : 0);
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
    return all;
  }

  // What meets a trained parameter in 16 bits, of a model that is Float for the most part, is not
  // lowered to it: its steps would still round away.
  static bool has_lone_trained_low_parameter(const Node& node, const Finding& goal) {
    const OpCall* call = node.run().call(goal.call);
    if (call == nullptr) return false;
    const auto trained =
        std::find_if(call->operands.begin(), call->operands.end(), [](const Operand& operand) {
          return is_parameter(operand) && operand.requires_grad &&
                 operand.dtypes.within(kLowPrecision);
        });
    if (trained == call->operands.end()) return false;
    const std::string root = rules::root_module(trained->parameter);
    std::set<std::string> low, wide;
    for (const OpCall& other : node.run().calls) {
      for (const Operand& operand : other.operands) {
        if (!is_parameter(operand) || rules::root_module(operand.parameter) != root) continue;
        (operand.dtypes.within(kLowPrecision) ? low : wide).insert(operand.parameter);
      }
    }
    return wide.size() > low.size();
  }

  static bool lowers(const Candidate& candidate) {
    return !candidate.parts.empty() &&
           kLowPrecision.contains(candidate.parts.front().second->dtype);
  }

  // A cast that a change has put there is not taken back.
  static bool is_changed_there(const Node& node, const Cure& cure) {
    return std::any_of(node.changes.begin(), node.changes.end(),
                       [&](const Change& change) { return is_near(change.where, cure.where); });
  }

  // The kinds of change in their order.
  static constexpr int kAsksFor16Bits = 0;

  // What is asked for in 16 bits comes before edits, what gives them up behind them, and an edit
  // that does so behind the setting. Who opens autocast nowhere casts. What the command line can
  // say is not written into a source. Once a model is raised, who lowers data for it by a line of
  // the program takes that back rather than casting where the data are read.
  int rank_of(const Node& node, const Candidate& candidate, bool has_float_setting) const {
    if (candidate.setting != nullptr)
      return candidate.setting->dtype == Dtype::kFloat ? 3 : kAsksFor16Bits;
    const Cure& cure = *candidate.parts.front().second;
    const bool is_said = std::any_of(settings_.begin(), settings_.end(), [&](const Setting& its) {
      return its.dtype == cure.dtype && !its.prompt.empty();
    });
    if (cure.kind == CureKind::kSetting && is_said) return 2;
    // What 16-bit weights computed goes on in 16 bits once they are raised.
    if (cure.kind == CureKind::kOpenAutocast && !has_autocast(root_.run()))
      return node.raises_model && std::any_of(findings_.begin(), findings_.end(), loses_steps) ? 1
                                                                                               : 2;
    if (acts_at_call(cure.kind) && cure.dtype == Dtype::kFloat && node.raises_model) return 2;
    return raises_parameters(cure) && has_float_setting ? 4 : 1;
  }

  static bool raises_parameters(const Cure& cure) {
    return cure.kind == CureKind::kCastParameters && cure.dtype == Dtype::kFloat;
  }

  static bool has_autocast(const Run& run) {
    return std::any_of(run.calls.begin(), run.calls.end(), [](const OpCall& call) {
      return call.autocast.region_for(call.device_type()) != nullptr;
    });
  }

  void add_settings(const Node& node, Dtype dtype, std::vector<Candidate>& all) const {
    if (!node.patch.files.empty() || !node.prompt.empty()) return;
    for (const Setting& setting : settings_)
      if (setting.dtype == dtype) all.push_back({{}, &setting});
  }

  static bool acts_at_call(CureKind kind) {
    return kind == CureKind::kCastOperand || kind == CureKind::kCastModuleInput ||
           kind == CureKind::kOpenAutocast || kind == CureKind::kMoveAutocast;
  }

  void add_alike(const Node& node, const Finding& goal, const Cure& cure,
                 Candidate& candidate) const {
    if (!acts_at_call(cure.kind)) return;
    const OpCall* own = node.run().call(goal.call);
    if (own == nullptr) return;
    std::set<std::string> places = {place_text(cure)};
    for (const Finding& other : node.trial->findings) {
      const OpCall* call = node.run().call(other.call);
      if (&other == &goal || call == nullptr || !is_refusal(node.run(), other)) continue;
      if (other.follows == goal.id && cure.kind != CureKind::kOpenAutocast) continue;
      if (odd_dtype(*call, other) != odd_dtype(*own, goal)) continue;
      const auto same = std::find_if(other.cures.begin(), other.cures.end(), [&](const Cure& its) {
        return its.kind == cure.kind && its.dtype == cure.dtype;
      });
      const auto like =
          same != other.cures.end()
              ? same
              : std::find_if(other.cures.begin(), other.cures.end(), [&](const Cure& its) {
                  return acts_at_call(its.kind) && its.dtype == cure.dtype;
                });
      if (like == other.cures.end() || !places.insert(place_text(*like)).second) continue;
      candidate.parts.emplace_back(&other, &*like);
    }
  }

  static std::string place_text(const Cure& cure) {
    return fmt::format("{}:{}:{}", cure.where.file, cure.where.line, cure.text);
  }

  static DtypeSet odd_dtype(const OpCall& call, const Finding& finding) {
    const Operand* odd = call.operand(finding.odd_operand);
    return odd == nullptr ? DtypeSet() : odd->dtypes;
  }

  // Trained weights keep their digits, and in Half nothing is trained without a loss scale.
  bool is_harmful(const Run& run, const Cure& cure) const {
    if (!kLowPrecision.contains(cure.dtype)) return false;
    if (cure.kind == CureKind::kOpenAutocast && cure.dtype == Dtype::kHalf)
      return trains_in_float() && !has_scaler(run);
    const OpCall* call = run.call(cure.call);
    if (call == nullptr) return false;
    const auto is_trained = [](const Operand& operand) {
      return operand.requires_grad && operand.is_leaf && is_parameter(operand) &&
             operand.dtypes.within(DtypeSet(Dtype::kFloat));
    };
    const bool trains = std::any_of(call->operands.begin(), call->operands.end(), is_trained);
    if (cure.kind != CureKind::kCastParameters) return false;
    const Operand* operand = call->operand(cure.operand);
    return operand != nullptr ? is_trained(*operand) : trains;
  }

  bool trains_in_float() const {
    return std::any_of(trained_.begin(), trained_.end(), [](const auto& parameter) {
      return parameter.second.intersects(DtypeSet(Dtype::kFloat));
    });
  }

  static bool has_scaler(const Run& run) {
    return std::any_of(run.calls.begin(), run.calls.end(), [](const OpCall& call) {
      return (ops::facts_of(call.op) & ops::kScalesGradients) != 0;
    });
  }

  struct Attempted {
    Node node = {};
    Verdict verdict = Verdict::kNotTried;
    bool is_further = false;  // it died, or has findings, behind what was cured
  };

  Attempted attempt(const Node& node, const Finding& goal, const Candidate& candidate) {
    Try tried{.changes = node.changes, .prompt = node.prompt};
    Program program = node.program;
    std::vector<Patch> ways;
    if (const Setting* setting = candidate.setting; setting != nullptr) {
      tried.changes.push_back({setting->text, {}, goal.message, recorded_id(node, goal)});
      ways = {setting->patch};
      program = setting->program;
      tried.prompt = setting->prompt;
    } else {
      std::vector<const Cure*> cures;
      for (const auto& [finding, cure] : candidate.parts) {
        cures.push_back(cure);
        tried.changes.push_back(
            {cure->text, cure->where, finding->message, recorded_id(node, *finding)});
      }
      ways = make_patches(cures, node.run(), node.trial->recorded.sources, program, node.patch);
    }
    if (!ways.front().is_placed()) {
      tried.words = ways.front().reason;
      out_.tries.push_back(std::move(tried));
      return {};
    }
    // A name of the script's own may not have its value yet where the change stands: then the
    // program dies of it, and the next way says the same as a constant.
    Attempted result;
    for (const Patch& way : ways) {
      if (!patches_.insert(tried.prompt + way.diff).second) continue;
      tried.patch = way;
      result = run_way(node, goal, program, candidate.setting != nullptr, tried);
      for (const auto& [finding, cure] : candidate.parts)
        result.node.raises_model |= raises_parameters(*cure);
      out_.tries.push_back(tried);
      const bool has_error = result.node.trial->problem.empty() &&
                             !result.node.trial->ended_well() &&
                             result.verdict == Verdict::kRefuted && tried.words.starts_with(kDies);
      const bool is_of_one_mode = tried.words.starts_with(kBreaks);
      if ((!has_error && !is_of_one_mode) || is_over()) break;
    }
    return result;
  }

  Attempted run_way(const Node& node, const Finding& goal, const Program& program, bool is_setting,
                    Try& tried) {
    ++runs_;
    auto trial =
        std::make_shared<Trial>(run_trial(tried.patch, program,
                                          {.timeout_s = options_.timeout_s,
                                           .enough_steps = enough_steps_,
                                           .ends_when_steady = enough_steps_ > 0,
                                           .progress = progress(fmt::format("try {}", runs_))}));
    out_.is_interrupted = trial->is_interrupted;
    if (!trial->writes_stay.empty()) out_.writes_stay = trial->writes_stay;
    Attempted result{
        {trial, program, tried.prompt, tried.patch, tried.changes, node.steps, node.raises_model}};
    result.node.steps.push_back(tried.patch);
    result.verdict = tried.verdict =
        judge(node, goal, *trial, is_setting, tried.words, result.is_further);
    if (result.verdict != Verdict::kProven) return result;
    tried.loses_steps =
        std::any_of(trial->findings.begin(), trial->findings.end(), [](const Finding& finding) {
          return finding.severity >= Severity::kWarning && loses_steps(finding);
        });
    if (const std::string broken = broken_mode(tried.patch); !broken.empty()) {
      tried.words = broken;
      result.verdict = tried.verdict = Verdict::kRefuted;
    }
    return result;
  }

  // The program is one setting away from computing in Float. A change of a source that is right in
  // 16 bits alone, as a dtype written down, breaks that: why, or "" where it does not.
  std::string broken_mode(const Patch& patch) {
    const auto other = std::find_if(settings_.begin(), settings_.end(), [](const Setting& its) {
      return its.dtype == Dtype::kFloat && its.patch.files.empty();
    });
    const bool changes_source =
        std::any_of(patch.files.begin(), patch.files.end(),
                    [](const ChangedFile& file) { return file.file.ends_with(".py"); });
    if (!changes_source || other == settings_.end()) return "";
    const auto run = [&](const Patch& with, const std::string& what) {
      const TrialOptions options{.timeout_s = options_.timeout_s,
                                 .enough_steps = enough_steps_,
                                 .ends_when_steady = enough_steps_ > 0,
                                 .progress = progress(what + " " + other->text)};
      const Trial trial = run_trial(with, other->program, options);
      out_.is_interrupted |= trial.is_interrupted;
      return trial;
    };
    const auto runs = [](const Trial& trial) { return !trial.end || trial.end->is_success(); };
    const Trial patched = run(patch, "the change with");
    if (out_.is_interrupted || runs(patched)) return "";
    if (!float_mode_runs_) float_mode_runs_ = runs(run({}, "the program with"));
    return *float_mode_runs_ ? fmt::format("{}{}: {}", kBreaks, other->text, patched.last_words)
                             : "";
  }

  // Of the run that was recorded; a cause that the repair run alone shows stands for what follows
  // from it.
  std::string recorded_id(const Node& node, const Finding& finding) const {
    const auto recorded = [&](const Finding& one) -> std::string {
      const auto is_there = [&](const Finding& its) {
        return its.rule == one.rule && its.site.line == one.site.line;
      };
      const auto same = std::find_if(findings_.begin(), findings_.end(), [&](const Finding& its) {
        return is_there(its) && name_of(its) == name_of(one);
      });
      if (same != findings_.end()) return same->id;
      // The repair run may see inside of an op what the recorded one saw of the op as a whole.
      const auto alike = std::find_if(findings_.begin(), findings_.end(), is_there);
      const bool is_one = std::count_if(findings_.begin(), findings_.end(), is_there) == 1;
      return is_one ? alike->id : "";
    };
    std::string id = recorded(finding);
    for (const Finding& other : node.trial->findings)
      if (id.empty() && other.follows == finding.id) id = recorded(other);
    return id;
  }

  Verdict judge(const Node& node, const Finding& goal, const Trial& trial, bool is_setting,
                std::string& words, bool& is_further) {
    if (!trial.problem.empty()) return words = trial.problem, Verdict::kNotTried;
    if (trial.recorded.run.calls.empty())
      return words = "nothing was recorded: " + trial.last_words, Verdict::kNotTried;
    for (const Finding& finding : trial.findings) {
      if (name_of(finding) == name_of(goal) && is_near(finding.site.line, goal.site.line))
        return words = "still there: " + described(finding), Verdict::kRefuted;
    }
    if (const std::string name = lowered_parameter(trained_, trial.recorded.run); !name.empty())
      return words = fmt::format("it lowers the precision of {}, which is trained", name),
             Verdict::kRefuted;
    const Finding* behind = nullptr;
    for (const Finding& finding : trial.findings) {
      if (finding.severity < Severity::kWarning || known_.contains(name_of(finding))) continue;
      const bool is_there = was_reached(trial.recorded.run, finding);
      // Another setting is another branch of the program, with a fault of its own to be cured.
      if (is_setting && finding.rule != rules::first_non_finite.doc.id && urgency(finding) > 0 &&
          !finding.cures.empty()) {
        is_further = true;
        return words = "then " + described(finding), Verdict::kCures;
      }
      if (finding.rule == rules::first_non_finite.doc.id ||
          (finding.severity == Severity::kWarning && is_there))
        return words = "new finding: " + described(finding), Verdict::kRefuted;
      if (behind == nullptr) behind = &finding;
    }
    const Finding* error = nullptr;
    for (const Finding& finding : trial.findings)
      if (finding.severity == Severity::kError && error == nullptr) error = &finding;
    if (error != nullptr) {
      is_further = !is_same_place(node, goal, trial, *error);
      return words = "then " + described(*error), Verdict::kCures;
    }
    if (trial.end && !trial.end->is_success())
      return words = kDies + trial.last_words, Verdict::kRefuted;
    const bool is_enough = trial.end || (enough_steps_ > 0 && trial.steps() >= enough_steps_);
    if (!is_enough)
      return words = trial.is_timed_out ? fmt::format("{} in {:.0f} s; allow more with --timeout",
                                                      how_far(trial), options_.timeout_s)
                                        : how_far(trial),
             Verdict::kNotTried;
    if (const std::string differs = other_numbers(trial); !differs.empty())
      return words = differs, Verdict::kRefuted;
    words = fmt::format("{}, {}", how_far(trial), left_words(trial));
    return Verdict::kProven;
  }

  // A cast that moves the mix to another operand of the same call gets nowhere.
  static bool is_same_place(const Node& node, const Finding& goal, const Trial& trial,
                            const Finding& error) {
    const OpCall *was = node.run().call(goal.call), *now = trial.recorded.run.call(error.call);
    return was != nullptr && now != nullptr && was->op == now->op &&
           was->site.line == now->site.line && !node.changes.empty();
  }

  static constexpr const char* kDies = "dies: ";
  static constexpr const char* kBreaks = "breaks ";

  // What such a run prints is no reference.
  static bool loses_steps(const Finding& finding) {
    const rules::Rule* rule = rules::find_rule(finding.rule);
    return rule != nullptr && rule->loses_steps;
  }

  bool was_reached(const Run& run, const Finding& finding) const {
    const OpCall* call = run.call(finding.call);
    return call == nullptr || reached_.contains(place_of(*call));
  }

  static std::string left_words(const Trial& trial) {
    std::vector<std::string> left;
    for (const Finding& finding : trial.findings) {
      const bool is_new = std::find(left.begin(), left.end(), finding.message) == left.end();
      if (finding.severity >= Severity::kWarning && is_new) left.push_back(finding.message);
    }
    return left.empty() ? "no errors, no warnings" : fmt::format("left: {}", fmt::join(left, "; "));
  }

  // The last number that the program prints is a loss or a score as a rule. The repair run has it
  // as well, computed in the wider dtype of each mix; where it overflowed it tells nothing.
  std::string other_numbers(const Trial& trial) {
    if (!repaired_ || trial.numbers.empty() || repaired_->numbers.size() != trial.numbers.size())
      return "";
    const double wanted = repaired_->numbers.back(), got = trial.numbers.back();
    if (!std::isfinite(wanted) || is_near(got, wanted) || !prints_the_same_again()) return "";
    return fmt::format("it prints {:g} where the repair run prints {:g}", got, wanted);
  }

  // A change above a line moves it.
  static bool is_near(const SourceLine& a, const SourceLine& b) {
    constexpr int kMoved = 2;
    return a.file == b.file && a.function == b.function && std::abs(a.line - b.line) <= kMoved;
  }

  static bool is_near(double got, double wanted, double share = kNear) {
    return std::abs(got - wanted) <= share * std::abs(wanted);
  }

  // A program without a seed prints other numbers each time.
  bool prints_the_same_again() {
    if (!is_reproducible_) {
      const Trial again = run_trial({}, program_,
                                    {.timeout_s = options_.timeout_s,
                                     .keep_going = true,
                                     .progress = progress("the repair run once more")});
      out_.is_interrupted |= again.is_interrupted;
      is_reproducible_ = again.numbers.size() == repaired_->numbers.size() &&
                         is_near(again.numbers.back(), repaired_->numbers.back(), kSame);
    }
    return *is_reproducible_;
  }

  const std::vector<Finding>& findings_;
  const Program& program_;
  const SearchOptions& options_;
  Node root_;
  Search out_;
  std::shared_ptr<const Trial> repaired_;  // the repair run, where it did not die
  std::optional<bool> is_reproducible_;  // what it prints; asked where a try prints something else
  uint64_t enough_steps_ = 0;            // of a program that the repair run saw no end of
  std::vector<Setting> settings_;
  std::optional<bool> float_mode_runs_;  // without a change; asked where one breaks it
  int runs_ = 0;
  std::set<std::string> known_, reached_, given_up_, patches_;
  std::map<std::string, DtypeSet> trained_;
};

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProven:
      return "proven";
    case Verdict::kCures:
      return "cures this";
    case Verdict::kRefuted:
      return "refuted";
    case Verdict::kNotTried:
      return "not tried";
  }
  return "not tried";
}

const Try* Search::best() const {
  const Try* best = nullptr;
  for (const Try& tried : tries) {
    if (tried.verdict != Verdict::kProven && tried.verdict != Verdict::kCures) continue;
    const auto rank = [](const Try& one) { return std::pair(one.verdict, one.loses_steps); };
    if (best == nullptr || rank(tried) <= rank(*best)) best = &tried;
  }
  return best;
}

Search search(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
              const Program& program, const SearchOptions& options) {
  return Searcher(recorded, findings, program, options).run();
}

}  // namespace dtypecheck::cures
