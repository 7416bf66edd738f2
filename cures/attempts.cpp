#include "cures/attempts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cures/prose.h"
#include "cures/settings.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cures {
namespace {

constexpr int kMaxFurther = 6;  // runs behind the first proof, for a change of more merit

// In which the loss was lost first, as the program had it; 0: in none.
uint32_t lost_step_of(const Run& run) {
  uint32_t first = 0;
  for (const OpCall& call : run.calls)
    for (const NonFinite& what : call.non_finite)
      if ((what.is_loss || what.is_read) && (first == 0 || what.step < first)) first = what.step;
  return first;
}

}  // namespace

Attempts::Attempts(const std::vector<Finding>& findings, const Program& program,
                   const SearchOptions& options)
    : judge([this] {
        return run({}, program_, "the repair run once more, rounded differently",
                   {.keep_going = true, .nudge = true});
      }),
      findings_(findings),
      program_(program),
      options_(options) {}

void Attempts::begin(const Run& run, bool is_refused, const LowShare& before) {
  settings = settings_of(program_, run);
  is_refused_ = is_refused;
  low_before_ = before;
}

Trial Attempts::run(const Patch& patch, const Program& program, const std::string& what,
                    TrialOptions options) {
  ++found.runs;
  options.timeout_s = options_.timeout_s;
  if (options_.progress)
    options.progress = [=, this](const std::string& how) { options_.progress(what + ": " + how); };
  Trial trial = run_trial(patch, program, options);
  found.is_interrupted |= trial.is_interrupted;
  if (!trial.writes_stay.empty()) found.writes_stay = trial.writes_stay;
  return trial;
}

TrialOptions Attempts::as_far_as_needed() const { return {.may_end_after = judge.enough()}; }

// What the recorded run did is done again where it ended by itself, and in time to be repeated:
// what was found may stand at its end.
static Progress to_be_repeated(const Run& run, uint32_t lost_step, double timeout_s) {
  const bool is_ended =
      std::all_of(run.processes.begin(), run.processes.end(), [&](const Process& process) {
        const double seconds =
            static_cast<double>(process.ended_unix_ns - process.started_unix_ns) / 1e9;
        return process.end != EndState::kRunning && process.signal == 0 && seconds < timeout_s / 4;
      });
  Progress progress = is_ended ? progress_of(run) : Progress();
  progress.steps = std::max<uint64_t>(progress.steps, lost_step);
  return progress;
}

std::shared_ptr<const Trial> Attempts::repair(const Trial& recorded, bool runs_eagerly) {
  Program program = program_;
  if (runs_eagerly) program.environment["TORCHDYNAMO_DISABLE"] = "1";
  const Run& before = recorded.recorded.run;
  const uint32_t lost_step = lost_step_of(before);
  auto trial = std::make_shared<Trial>(
      run({}, program, "the repair run",
          {.keep_going = true,
           .may_end_after = to_be_repeated(before, lost_step, options_.timeout_s),
           .looked_at_step = lost_step}));
  if (trial->is_interrupted) return nullptr;
  if (!trial->problem.empty() || trial->recorded.run.calls.empty()) {
    found.impossible =
        trial->problem.empty() ? "nothing was recorded: " + trial->last_words : trial->problem;
    return nullptr;
  }
  judge.remember(*trial);
  judge.compare_with(trial);
  trial->recorded.sources.add(Sources(recorded.recorded.sources));  // it may have been ended
  std::set<std::pair<std::string, int>> lines;
  for (const OpCall& call : trial->recorded.run.calls)
    if (was_let_through(call)) lines.emplace(call.site.line.file, call.site.line.line);
  found.repair = fmt::format("{} with the operands cast at {} line{}", how_far(*trial),
                             lines.size(), lines.size() == 1 ? "" : "s");
  return trial;
}

bool Attempts::is_over() const {
  return found.is_interrupted || tried_ + reserved_ >= options_.tries || further_ >= kMaxFurther;
}

bool Attempts::is_chosen() const {
  const Try* chosen = found.chosen();
  return chosen != nullptr && (is_over() || !chosen->merit.has_demerit());
}

bool Attempts::is_fixed() const {
  const Try* chosen = found.chosen();
  return chosen != nullptr && !chosen->merit.is_workaround();
}

bool Attempts::could_be_chosen(const Merit& at_best) const {
  const Try* chosen = found.chosen();
  return chosen == nullptr || at_best < chosen->merit;
}

Attempted Attempts::attempt(const Node& node, const Finding& goal, const Candidate& candidate) {
  const Setting* setting = candidate.setting;
  Node next{.program = setting ? setting->program : node.program,
            .prompt = setting ? setting->prompt : node.prompt,
            .changes = node.changes,
            .raises_model = node.raises_model};
  if (setting != nullptr)
    next.changes.push_back({setting->text, {}, goal.message, recorded_id(node, goal)});
  for (const auto& [finding, cure] : candidate.parts) {
    const bool is_first = next.changes.size() == node.changes.size();
    next.changes.push_back({cure->text, cure->where, finding->message, recorded_id(node, *finding),
                            node.patch.last_step() + 1, cure->dtype, is_first ? candidate.place : 0,
                            candidate.overrides});
    next.raises_model |= raises_parameters(*cure);
  }
  Attempted result;
  if (!candidate.ways.front().is_placed()) {
    result.judged.words = candidate.ways.front().reason;
    found.tries.push_back({next.changes, {}, next.prompt, result.judged});
    return result;
  }
  // A name of the script's own may not have its value yet where the change stands, or another
  // dtype than it seems to: then the program dies of it or is not built, or nothing is cured, and
  // the next way says the same as a constant.
  int failed = 0;
  for (const Patch& way : candidate.ways) {
    Merit merit = Candidates::best_merit(node, candidate, way);
    if (failed > 0) merit.literals = 0;  // no name has it there
    next.patch = way;
    if (!way.words.empty() && candidate.parts.size() == 1) next.changes.back().text = way.words;
    if (!could_be_chosen(merit) || !is_new(next)) continue;
    result = run_way(node, goal, next, setting != nullptr, merit);
    const Reason reason = result.judged.reason;
    ++failed;
    const bool is_name = way.demerits().literals < candidate.ways.back().demerits().literals;
    const bool is_not_built = reason == Reason::kNoRun && !program_.build.empty();
    // A dtype of NumPy's is none of torch's. Tensors that still differ are the next finding.
    const bool is_refused_there =
        reason == Reason::kFurther && is_name &&
        std::any_of(result.node.trial->findings.begin(), result.node.trial->findings.end(),
                    [&](const Finding& finding) {
                      return finding.severity == Severity::kError &&
                             finding.rule != rules::silent_promotion.doc.id &&
                             finding.rule != rules::mixed_operands.doc.id &&
                             finding.site.line.file == next.changes.back().where.file &&
                             finding.site.line.line == next.changes.back().where.line;
                    });
    const bool may_differ = reason == Reason::kDies || is_not_built || reason == Reason::kMode ||
                            is_refused_there ||
                            (reason == Reason::kStill && is_name && candidate.is_of(goal));
    if (!may_differ || is_over()) break;
  }
  return result;
}

bool Attempts::is_new(const Node& next) {
  return known_.insert(next.prompt + diff_of(next.patch.edits)).second;
}

// A change on top of another may have brought back what that had cured.
Judgement Attempts::judge_way(const Node& node, const Finding& goal, const Node& next,
                              bool is_setting) {
  const Judgement judged = judge.judge(node, goal, next, is_setting);
  const auto [first, first_goal] = first_;
  if (judged.verdict != Verdict::kProven) return judged;
  if (first_goal != &goal) {
    const Judgement again = {Verdict::kRefuted, Reason::kStill,
                             "again there: " + described(*first_goal)};
    if (is_read_as_before(first->run(), *first_goal, next.run())) return again;
    if (const Finding* left = Judge::left_of(*first, *first_goal, next))
      return has_further_cause(*first_goal, *left)
                 ? Judgement{Verdict::kCures, Reason::kFurther, "then " + described(*left)}
                 : again;
  }
  const std::string broken = broken_mode(next.patch);
  return broken.empty() ? judged : Judgement{Verdict::kRefuted, Reason::kMode, broken};
}

// Runs what `next` says, which gets the trial, and notes the try.
Attempted Attempts::run_way(const Node& node, const Finding& goal, Node next, bool is_setting,
                            Merit merit) {
  ++tried_;
  further_ += found.chosen() != nullptr;
  const std::string what = fmt::format("try {}, {}", tried_, next.changes.back().text);
  auto trial = std::make_shared<Trial>(run(next.patch, next.program, what, as_far_as_needed()));
  next.trial = trial;
  Judgement judged = judge_way(node, goal, next, is_setting);
  if (judged.verdict == Verdict::kProven) {
    LowShare before = low_before_;
    const auto [first, first_goal] = first_;
    if (first_goal->is_loaded_low) before = {};  // nobody chose to compute in 16 bits
    if (first_goal->rule ==
        rules::lost_increment.doc.id)  // an average of weights is Float by right
      before = low_share(first->run(), weights_beside(first->run(), *first_goal));
    if (!is_refused_ && !is_refusal(first->run(), *first_goal))
      before.at_line = low_share(first->run(), before.adapters, first_goal->site.line).at_line;
    const bool was_error = is_refused_ || first_goal->severity == Severity::kError;
    add_run(merit, *trial, before, judge, was_error);
    merit.leaves_cause = Judge::leaves_cause(*first, *first_goal, next);
    Merit beside = merit;  // the words of the verdict say what is left
    beside.loses_steps = false;
    beside.left = 0;
    const std::string costs = cost_words(beside);
    if (!costs.empty()) judged.words += "; " + costs;
  }
  const bool is_proven = judged.verdict == Verdict::kProven;
  found.tries.push_back(
      {next.changes, next.patch, next.prompt, judged, merit, is_proven ? trial : nullptr});
  return {std::move(next), std::move(judged)};
}

void Attempts::shorten(const Node& node, const Finding& goal, Node& proven) {
  Merit best = found.tries.back().merit;
  auto ways = shorter_patches(proven.patch);
  for (size_t i = 0; i < ways.size() && !is_over();) {
    Node next = proven;
    const int step = ways[i].first;
    next.patch = ways[i].second;
    std::erase_if(next.changes, [&](const Change& change) { return change.step == step; });
    ++i;
    if (!is_new(next)) continue;
    Attempted result = run_way(node, goal, next, /*is_setting=*/false, merit_of_source(next));
    const Try& tried = found.tries.back();
    if (!tried.is_proven() || !(tried.merit < best)) continue;
    best = tried.merit;
    proven = std::move(result.node);
    ways = shorter_patches(proven.patch);
    i = 0;
  }
}

// The program is one setting away from computing in Float. A dtype that a change wrote down may
// break that: why, or "" where it does not.
std::string Attempts::broken_mode(const Patch& patch) {
  const auto other = std::find_if(settings.begin(), settings.end(), [](const Setting& its) {
    return its.dtype == Dtype::kFloat && its.patch.edits.empty();
  });
  if (patch.demerits().literals == 0 || other == settings.end()) return "";
  const auto runs = [](const Trial& trial) { return !trial.end || trial.end->is_success(); };
  const Trial patched =
      run(patch, other->program, "the change with " + other->text, as_far_as_needed());
  if (found.is_interrupted || runs(patched)) return "";
  if (!float_mode_runs_)
    float_mode_runs_ =
        runs(run({}, other->program, "the program with " + other->text, as_far_as_needed()));
  return *float_mode_runs_ ? fmt::format("breaks {}: {}", other->text, patched.last_words) : "";
}

// Of the run that was recorded; a cause that the repair run alone shows stands for what follows
// from it.
std::string Attempts::recorded_id(const Node& node, const Finding& finding) const {
  const Finding* recorded = recorded_alike(findings_, finding);
  for (const Finding& other : node.trial->findings) {
    if (recorded == nullptr && other.follows == finding.id)
      recorded = recorded_alike(findings_, other);
  }
  return recorded == nullptr ? "" : recorded->id;
}

}  // namespace dtypecheck::cures
