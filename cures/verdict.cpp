#include "cures/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "cures/prose.h"
#include "ops/ops.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cures {
namespace {

constexpr double kNear = 0.1;   // two runs print the same loss, as far as 16 bits go
constexpr double kSame = 1e-4;  // … the same program twice, whose threads add up in any order
constexpr double kRuns = 3;     // two runs tell roughly how far others are apart

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

// An op there was called. Lines move when a source is changed.
std::string place_of(const OpCall& call) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", call.op, call.site.module,
                     static_cast<int>(call.site.phase), call.site.line.file,
                     call.site.line.function);
}

// … with these dtypes.
std::string dtypes_of(const OpCall& call) {
  std::string text = place_of(call);
  for (const auto* tensors : {&call.operands, &call.results}) {
    for (const Operand& tensor : *tensors) text += "\n" + tensor.dtypes.to_string();
  }
  return text;
}

// A cast that moves the mix to another operand of the same call gets nowhere.
// A setting in other 16 bits is refused there in these, and so is a change on top of another.
bool is_same_place(const Node& node, const Finding& goal, const Trial& trial, const Finding& error,
                   bool is_setting) {
  const OpCall *was = node.run().call(goal.call), *now = trial.recorded.run.call(error.call);
  return was != nullptr && now != nullptr && was->op == now->op &&
         was->site.line == now->site.line && (!node.changes.empty() || is_setting);
}

// The line of a node's text, in the text of one with further edits.
int line_in(const Node& next, const Node& node, const SourceLine& line) {
  int own = line.line;  // without any edit
  while (own > 0 && moved_line(line.file, own, node.patch.edits) > line.line) --own;
  return moved_line(line.file, own, next.patch.edits);
}

// The line of the node's changed text has words of an edit.
bool is_edited(const Node& next, const SourceLine& line) {
  const std::vector<SourceEdit>& edits = next.patch.edits;
  return std::any_of(edits.begin(), edits.end(), [&](const SourceEdit& edit) {
    const int first = moved_line(edit.file, edit.line, edits);
    const auto more = std::count(edit.new_text.begin(), edit.new_text.end(), '\n');
    return edit.file == line.file && line.line >= std::min(first, edit.line) &&
           line.line <= first + more;
  });
}

bool makes_non_finite(const Finding& finding) {
  return finding.rule == rules::first_non_finite.doc.id;
}

bool gives_infinity(const Run& run, const Finding& finding) {
  const OpCall* call = run.call(finding.call);
  return call != nullptr && makes_non_finite(finding) &&
         std::any_of(call->non_finite.begin(), call->non_finite.end(),
                     [](const NonFinite& found) { return !found.is_nan; });
}

// What was an error for what came of it, a promotion that a layer refused, costs time alone.
bool is_cost_of(const Finding& goal, const Finding& finding) {
  return goal.severity == Severity::kError && finding.severity < Severity::kError &&
         costs_only(finding);
}

// They are about parameters of two models, which one line gets in turn.
bool are_of_two_models(const Run& run, const Finding& finding, const Run& other_run,
                       const Finding& other) {
  const auto root = [](const Run& of, const Finding& found) {
    const OpCall* call = of.call(found.call);
    const Operand* odd = call == nullptr ? nullptr : call->operand(found.odd_operand);
    return odd == nullptr ? "" : rules::root_module(odd->parameter);
  };
  const std::string one = root(run, finding), another = root(other_run, other);
  return !one.empty() && !another.empty() && one != another;
}

// A column of a changed line as the line was before; edits of more than one line are left out.
int column_before(const SourceLine& line, int column, std::vector<SourceEdit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const auto& a, const auto& b) { return a.column < b.column; });
  int longer = 0;
  for (const SourceEdit& edit : edits) {
    if (edit.file != line.file || moved_line(edit.file, edit.line, edits) != line.line) continue;
    if (edit.old_text.find('\n') != edit.old_text.npos) continue;
    if (edit.column + longer < column)
      longer += static_cast<int>(edit.new_text.size()) - static_cast<int>(edit.old_text.size());
  }
  return column - longer;
}

// Both were refused, on one line, and are two calls there: f(g(x, a), b).
bool are_two_calls(const Node& node, const Finding& goal, const Node& next,
                   const Finding& finding) {
  const SourceLine &was = goal.site.line, &is = finding.site.line;
  const auto is_on_line = [](const SourceLine& line) {
    return line.extent.known() && (line.extent.end_line == 0 || line.extent.end_line == line.line);
  };
  if (!is_on_line(was) || !is_on_line(is) || !is_refusal(node.run(), goal) ||
      !is_refusal(next.run(), finding))
    return false;
  const auto columns = [](const SourceLine& line, const Node& of) {
    return std::pair(column_before(line, line.extent.column, of.patch.edits),
                     column_before(line, line.extent.end_column, of.patch.edits));
  };
  return columns(was, node) != columns(is, next);
}

// The goal itself, where a change has moved it too, or another of its kind beside it, which the
// node had as well.
bool is_there_still(const Node& node, const Finding& goal, const Node& next,
                    const Finding& finding) {
  const auto is_alike = [&](const Finding& one) {
    SourceLine moved = one.site.line;
    moved.line = line_in(next, node, moved);
    // Of several ops of a line another may be the first one that overflows.
    if (are_of_two_models(node.run(), one, next.run(), finding)) return false;
    const bool is_of_kind =
        name_of(finding) == name_of(one) ||
        (gives_infinity(node.run(), one) && gives_infinity(next.run(), finding));
    return is_of_kind && is_near(finding.site.line, moved);
  };
  const auto is_there = [&](const Finding& one) {
    return is_alike(one) && finding.site.line.line == line_in(next, node, one.site.line);
  };
  if (is_there(goal) && are_two_calls(node, goal, next, finding)) return false;
  if (!is_alike(goal) || is_there(goal)) return is_alike(goal);
  if (!is_edited(next, finding.site.line)) return false;
  return std::none_of(node.trial->findings.begin(), node.trial->findings.end(), is_there);
}

// A note is left of damage that is none any more.
bool is_still(const Node& node, const Finding& goal, const Node& next, const Finding& finding) {
  const bool is_note = finding.severity < Severity::kWarning && goal.severity >= Severity::kWarning;
  return !is_note && !is_cost_of(goal, finding) && is_there_still(node, goal, next, finding);
}

// A cast to integers that the change wrote.
bool is_its_own_cast(const Node& next, const Finding& finding) {
  const OpCall* call = next.run().call(finding.call);
  const auto dtype = call == nullptr ? std::nullopt : call->result_dtype();
  return dtype && kIntegral.contains(*dtype) && (ops::facts_of(call->op) & ops::kCast) != 0 &&
         is_edited(next, finding.site.line);
}

// What the op that was refused would have given in the program's own dtype: the change casts it
// back to that.
bool rounds_back(const Node& node, const Finding& goal, const Node& next, const Finding& finding) {
  const OpCall *refused = node.run().call(goal.call), *found = next.run().call(finding.call);
  const OpCall* cast =
      found != nullptr && found->inexact ? next.run().call(found->inexact->rounded_at) : nullptr;
  const Operand* odd = refused == nullptr ? nullptr : refused->operand(goal.odd_operand);
  return cast != nullptr && odd != nullptr && is_refusal(node.run(), goal) &&
         (ops::facts_of(cast->op) & ops::kCast) != 0 && cast->result_dtype() &&
         odd->dtypes == DtypeSet(*cast->result_dtype()) && is_edited(next, cast->site.line);
}

// The result has fewer digits than what it is computed of, or it is of unknown making.
bool rounds(const OpCall& call) {
  const auto result = call.result_dtype();
  int widest = 0;
  for (const Operand& operand : call.operands)
    if (operand.is_floating() && operand.dtypes.single())
      widest = std::max(widest, dtype_size_bytes(*operand.dtypes.single()));
  return !result || widest == 0 ||
         (kFloating.contains(*result) && dtype_size_bytes(*result) < widest);
}

std::set<std::string> readers_of(const Run& run, const std::string& made) {
  std::set<std::string> readers;
  for (const OpCall& call : run.calls) {
    for (const Operand& operand : call.operands) {
      const OpCall* origin = run.call(operand.origin);
      if (origin != nullptr && dtypes_of(*origin) == made) readers.insert(dtypes_of(call));
    }
  }
  return readers;
}

}  // namespace

bool is_read_as_before(const Run& before, const Finding& goal, const Run& now) {
  if (goal.rule != rules::far_from_float.doc.id) return false;
  const OpCall* call = before.call(goal.call);
  const OpCall* rounded =
      call != nullptr && call->inexact ? before.call(call->inexact->rounded_at) : nullptr;
  // An infinity is seen as soon as it is there again.
  if (rounded == nullptr || rounded == call || !std::isfinite(call->inexact->to)) return false;
  for (const OpCall& reader : before.calls)
    for (const Operand& operand : reader.operands)
      if (operand.origin == rounded->id && rules::is_weight(operand)) return false;
  const std::string made = dtypes_of(*rounded);
  const std::set<std::string> readers = readers_of(before, made);
  return !readers.empty() && readers == readers_of(now, made);
}

const OpCall* promoted_again(const Run& before, const Finding& goal, const Run& now) {
  const OpCall* cast = before.call(goal.call);
  const auto dtype = cast == nullptr ? std::nullopt : cast->result_dtype();
  if (!dtype || !cast->inexact || cast->operands.empty() || kIntegral.contains(*dtype) ||
      !cast->operands.back().dtypes.within(kIntegral))
    return nullptr;
  const auto reads = [&](const Operand& operand) { return operand.origin == cast->id; };
  const auto is_integral = [](const Operand& operand) {
    return operand.dtypes.within(kIntegral) && !operand.is_wrapped_number;
  };
  for (const OpCall& reader : before.calls) {
    if (!std::any_of(reader.operands.begin(), reader.operands.end(), reads)) continue;
    for (const OpCall& call : now.calls)
      if (call.op == reader.op && is_near(call.site.line, reader.site.line) &&
          call.result_dtype() == dtype &&
          std::any_of(call.operands.begin(), call.operands.end(), is_integral))
        return &call;
  }
  return nullptr;
}

bool has_further_cause(const Finding& goal, const Finding& left) {
  const bool is_first = left.rule == rules::first_non_finite.doc.id;
  if ((left.rule != rules::far_from_float.doc.id && !is_first) || left.cures.empty()) return false;
  const SourceLine& where = left.cures.front().where;
  return std::none_of(goal.cures.begin(), goal.cures.end(), [&](const Cure& cure) {
    // The goal's own line may stand below the head of a region now.
    const bool has_moved = is_first && cure.where.file == where.file &&
                           cure.where.function == where.function &&
                           cure.where.line + 1 == where.line;
    return cure.where == where || has_moved;
  });
}

std::map<std::string, DtypeSet> trained_parameters(const Run& run) {
  std::map<std::string, DtypeSet> dtypes;
  for (const OpCall& call : run.calls) {
    const uint64_t steps = run.process_of(call).steps;
    if (steps > 0 && call.first_step > steps) continue;  // it trains no more
    for (const Operand& operand : call.operands) {
      if (operand.requires_grad && operand.is_leaf && is_parameter(operand))
        dtypes[operand.parameter] |= operand.dtypes;
    }
  }
  return dtypes;
}

bool has_autocast(const Run& run) {
  return std::any_of(run.calls.begin(), run.calls.end(), [](const OpCall& call) {
    return call.autocast.region_for(call.device_type()) != nullptr;
  });
}

bool is_refusal(const Run& run, const Finding& finding) {
  const OpCall* call = run.call(finding.call);
  return call != nullptr && (call->outcome == Outcome::kThrew || was_let_through(*call));
}

bool is_near(const SourceLine& a, const SourceLine& b) {
  constexpr int kMoved = 2;
  return a.file == b.file && a.function == b.function && std::abs(a.line - b.line) <= kMoved;
}

void Judge::remember(const Trial& trial) {
  for (const Finding& finding : trial.findings) {
    known_.insert(name_of(finding));
    loses_loss_ |= finding.rule == rules::non_finite_loss.doc.id;
  }
  for (auto& [name, dtypes] : trained_parameters(trial.recorded.run)) trained_[name] |= dtypes;
  for (const OpCall& call : trial.recorded.run.calls) {
    reached_.insert(place_of(call));
    made_.insert(dtypes_of(call));
    if (call.cast && call.cast->looked > 0) looked_.insert(dtypes_of(call));
  }
}

void Judge::compare_with(std::shared_ptr<const Trial> repair_run) {
  // Not how far it came until it was ended: that tells how fast the machine was. A change makes a
  // few op calls less.
  if (!repair_run->end) {
    enough_ = repair_run->till_steady;
    enough_->op_calls = enough_->op_calls / 4 * 3;
  }
  const std::vector<Finding>& findings = repair_run->findings;
  const bool is_sound = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return makes_non_finite(finding) || loses_steps(finding);
  });
  is_without_numbers_ = !repair_run->ended_well() || !is_sound;
  if (!is_without_numbers_) repaired_ = std::move(repair_run);
}

bool Judge::came_with_data(const Run& run, const Finding& finding) const {
  const OpCall* call = run.call(finding.call);
  return call != nullptr && makes_non_finite(finding) && is_as_it_was(run, finding) &&
         std::all_of(call->non_finite.begin(), call->non_finite.end(), [](const NonFinite& found) {
           return found.is_nan && !found.operands_had_no_nan;
         });
}

bool Judge::leaves_cause(const Node& node, const Finding& goal, const Node& next) {
  const auto& findings = next.trial->findings;
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.severity >= Severity::kWarning && is_cost_of(goal, finding) &&
           is_there_still(node, goal, next, finding);
  });
}

const Finding* Judge::left_of(const Node& node, const Finding& goal, const Node& next) {
  const auto& findings = next.trial->findings;
  const auto left = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
    return is_still(node, goal, next, finding);
  });
  return left == findings.end() ? nullptr : &*left;
}

// Another finding of the goal's line and rule that the change left as it was: the line is still
// wrong.
static const Finding* left_beside(const Node& node, const Finding& goal, const Trial& trial) {
  const auto is_beside = [&](const Finding& before, const Finding& finding) {
    return &before != &goal && before.rule == goal.rule && before.site.line == goal.site.line &&
           name_of(before) == name_of(finding) &&
           before.site.line.function == finding.site.line.function;
  };
  for (const Finding& finding : trial.findings)
    for (const Finding& before : node.trial->findings)
      if (finding.severity >= Severity::kWarning && is_beside(before, finding)) return &finding;
  return nullptr;
}

// The next run got to what the finding is about, by the function: its lines may have moved.
static bool has_run_again(const Run& run, const Finding& goal, const Run& next) {
  const OpCall* before = run.call(goal.call);
  if (before == nullptr) return true;
  const auto name = [](std::string_view op) {
    return op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
  };
  return std::any_of(next.calls.begin(), next.calls.end(), [&](const OpCall& call) {
    return call.site.phase == before->site.phase &&
           call.site.line.function == before->site.line.function &&
           name(call.op) == name(before->op);
  });
}

Judgement Judge::judge(const Node& node, const Finding& goal, const Node& next, bool is_setting) {
  const Trial& trial = *next.trial;
  if (!trial.problem.empty()) return {Verdict::kNotTried, Reason::kNoRun, trial.problem};
  if (trial.recorded.run.calls.empty())
    return {Verdict::kNotTried, Reason::kNoRun, "nothing was recorded: " + trial.last_words};
  for (const Finding& finding : trial.findings) {
    if (is_still(node, goal, next, finding) && has_further_cause(goal, finding))
      return {Verdict::kCures, Reason::kFurther, "then " + described(finding)};
    if (is_still(node, goal, next, finding))
      return {Verdict::kRefuted, Reason::kStill, "still there: " + described(finding)};
  }
  if (const std::string name = lowered_parameter(trained_, trial.recorded.run); !name.empty())
    return {Verdict::kRefuted, Reason::kLowers,
            fmt::format("it lowers the precision of {}, which is trained", name)};
  const Finding* error = nullptr;
  // What was raised against damage is read beside 16 bits, which costs time.
  const bool raises = !next.changes.empty() && next.changes.back().dtype == Dtype::kFloat &&
                      (next.raises_model || (!costs_only(goal) && !is_refusal(node.run(), goal)));
  for (const Finding& finding : trial.findings) {
    if (raises && costs_only(finding)) continue;
    // Its cause is another finding, which is judged in its place.
    if (finding.severity < Severity::kError && !finding.follows.empty()) continue;
    // The first NaN behind an infinity that is gone was there before, and was not the first. One
    // that loses the loss as before is what was to be cured.
    const bool loses_loss = loses_loss_ && finding.severity == Severity::kError &&
                            !came_with_data(trial.recorded.run, finding);
    if (makes_non_finite(finding) && !loses_loss && is_as_it_was(trial.recorded.run, finding))
      continue;
    if (finding.severity == Severity::kError && error == nullptr) error = &finding;
    if (finding.severity < Severity::kWarning || knew(finding)) continue;
    // Another setting is another branch of the program, with a fault of its own to be cured.
    const bool harms = finding.severity == Severity::kError || !costs_only(finding);
    if (is_setting && !makes_non_finite(finding) && harms && !finding.cures.empty()) {
      const bool is_same = is_same_place(node, goal, trial, finding, is_setting);
      return {Verdict::kCures, is_same ? Reason::kSamePlace : Reason::kFurther,
              "then " + described(finding)};
    }
    const bool is_there = was_reached(trial.recorded.run, finding);
    if (rounds_back(node, goal, next, finding)) continue;
    const bool is_own = is_its_own_cast(next, finding);
    if (!is_own && finding.severity == Severity::kWarning &&
        (is_as_it_was(trial.recorded.run, finding) ||
         stood_still_before(trial.recorded.run, finding)))
      continue;
    if (!is_own && was_not_looked_at(trial.recorded.run, finding)) continue;
    // What costs time alone is a demerit of what lets a refused program run.
    if (!is_own && costs_only(finding) && is_refusal(node.run(), goal)) continue;
    if (makes_non_finite(finding) || is_own || (finding.severity == Severity::kWarning && is_there))
      return {Verdict::kRefuted, Reason::kWorse, "new finding: " + described(finding)};
  }
  if (error != nullptr) {
    const bool is_same = is_same_place(node, goal, trial, *error, is_setting);
    return {Verdict::kCures, is_same ? Reason::kSamePlace : Reason::kFurther,
            "then " + described(*error)};
  }
  if (trial.end && !trial.end->is_success())
    return {Verdict::kRefuted, Reason::kDies, "dies: " + trial.last_words};
  const bool is_enough =
      trial.end || (enough_ && progress_of(trial.recorded.run).has_reached(*enough_));
  if (!is_enough && trial.is_timed_out)
    return {Verdict::kNotTried, Reason::kNoRun,
            how_far(trial) + " in time; allow more with --timeout"};
  if (!is_enough) return {Verdict::kNotTried, Reason::kNoRun, how_far(trial)};
  if (!trial.end && !has_run_again(node.run(), goal, trial.recorded.run))
    return {Verdict::kNotTried, Reason::kNoRun,
            how_far(trial) + ", and neither was this line; allow more with --timeout"};
  if (is_read_as_before(node.run(), goal, trial.recorded.run))
    return {Verdict::kRefuted, Reason::kStill,
            "the numbers are read as rounded as before: " + described(goal)};
  if (const OpCall* again = promoted_again(node.run(), goal, trial.recorded.run))
    return {Verdict::kRefuted, Reason::kStill,
            fmt::format("{} still promotes it to {}: {}", again->op,
                        dtype_name(*again->result_dtype()), described(goal))};
  if (const Finding* beside = left_beside(node, goal, trial))
    return {Verdict::kCures, Reason::kFurther, "then " + described(*beside)};
  std::string compared;
  if (auto differs = judge_numbers(trial, compared)) return *std::move(differs);
  // A GradScaler skips steps whose gradients are infinite.
  const bool has_fewer = node.trial->ended_well() && trial.ended_well() && trial.steps() > 0 &&
                         trial.steps() < node.trial->steps();
  const std::string skipped =
      has_fewer ? fmt::format(" ({} before the change)", node.trial->steps()) : "";
  return {Verdict::kProven, Reason::kEnd,
          fmt::format("{}{}, {}{}", how_far(trial), skipped, left_words(trial), compared)};
}

bool Judge::knew(const Finding& finding) const { return known_.contains(name_of(finding)); }

bool Judge::was_reached(const Run& run, const Finding& finding) const {
  const OpCall* call = run.call(finding.call);
  return call == nullptr || reached_.contains(place_of(*call));
}

bool Judge::has_trained_in(const Run& run, const Finding& finding) const {
  const OpCall* call = run.call(finding.call);
  return call != nullptr &&
         std::any_of(call->operands.begin(), call->operands.end(), [&](const Operand& operand) {
           return operand.is_written &&
                  std::any_of(trained_.begin(), trained_.end(), [&](const auto& parameter) {
                    return parameter.second.intersects(operand.dtypes);
                  });
         });
}

// One call in sixteen is, and another one in each run: that the run without a change is without the
// finding says nothing.
bool Judge::was_not_looked_at(const Run& run, const Finding& finding) const {
  const OpCall* call = run.call(finding.call);
  const bool is_sampled = finding.rule == rules::lossy_cast.doc.id;
  return is_sampled && call != nullptr && call->cast && made_.contains(dtypes_of(*call)) &&
         !looked_.contains(dtypes_of(*call));
}

// The repair run, which may have been ended sooner, stepped the same in the same dtypes.
bool Judge::stood_still_before(const Run& run, const Finding& finding) const {
  const OpCall* call = run.call(finding.call);
  return call != nullptr && loses_steps(finding) && made_.contains(dtypes_of(*call));
}

// A repair run looks at no values. What it computed of the same, all the way up, and in the same
// dtypes or what the change made wider, the change has no part in.
bool Judge::is_as_it_was(const Run& run, const Finding& finding) const {
  const OpCall* call = run.call(finding.call);
  if (call == nullptr || (!call->inexact && !makes_non_finite(finding))) return false;
  std::vector<const OpCall*> reached = {call};
  std::set<OpCallId> seen = {call->id};
  for (size_t next = 0; next < reached.size(); ++next) {
    if (!made_.contains(dtypes_of(*reached[next])) && rounds(*reached[next])) return false;
    for (const Operand& operand : reached[next]->operands) {
      const OpCall* maker = run.call(operand.origin);
      if (maker != nullptr && seen.insert(maker->id).second) reached.push_back(maker);
    }
  }
  return true;
}

// A line draws its random numbers in Double and did not, or the other way round, as of weights that
// are made in Float: from there on all that the program draws are others. Half, BFloat16 and Float
// are rounded of the same.
static bool draws_others(const Run& run, const Run& than) {
  using Drawn = std::tuple<std::string, std::string, int>;  // op, line
  const auto in_double = [](const Run& of) {
    std::map<Drawn, bool> drawn;
    for (const OpCall& call : of.calls)
      if ((ops::facts_of(call.op) & ops::kDraws) != 0 && call.result_dtype())
        drawn[{call.op, call.site.line.file, call.site.line.line}] |=
            call.result_dtype() == Dtype::kDouble;
    return drawn;
  };
  const auto now = in_double(run), before = in_double(than);
  return std::any_of(now.begin(), now.end(), [&](const auto& drawn) {
    const auto was = before.find(drawn.first);
    return was != before.end() && was->second != drawn.second;
  });
}

// The last number that the program prints is a loss or a score as a rule. The repair run has it as
// well, computed in the wider dtype of each mix; where it overflowed it tells nothing.
std::optional<Judgement> Judge::judge_numbers(const Trial& trial, std::string& compared) {
  if (trial.numbers.empty()) compared = "; it prints no number to compare";
  if (!trial.numbers.empty() && is_without_numbers_)
    compared =
        "; what it prints could not be checked: no run of the unchanged program prints a right "
        "number";
  if (!repaired_ || trial.numbers.empty() || repaired_->numbers.size() != trial.numbers.size())
    return std::nullopt;
  if (draws_others(trial.recorded.run, repaired_->recorded.run)) {
    compared = "; what it prints could not be checked: it draws other random numbers than before";
    return std::nullopt;
  }
  const double wanted = repaired_->numbers.back(), got = trial.numbers.back();
  const auto is_within = [&](double share) {
    return std::abs(got - wanted) <= share * std::abs(wanted);
  };
  if (!std::isfinite(wanted) || is_within(kNear)) return std::nullopt;
  const double own = spread();
  if (own > kSame && is_within(kRuns * own + kNear)) {
    compared = fmt::format(
        "; it prints {:g}, and {:g} without the change, where rounding alone "
        "makes two runs differ by {:.0f} %",
        got, wanted, own * 100);
    return std::nullopt;
  }
  return Judgement{Verdict::kRefuted, Reason::kNumbers,
                   fmt::format("it prints {:g} where the repair run prints {:g}", got, wanted)};
}

// A program without a seed prints other numbers each time, and one that trains for long numbers
// that hang on how each op rounds: by what share of the first.
double Judge::spread() {
  if (!spread_) {
    const Trial again = run_again_();
    const double first = repaired_->numbers.back();
    const bool is_alike = again.numbers.size() == repaired_->numbers.size();
    const double apart = is_alike ? std::abs(again.numbers.back() - first) : std::abs(first);
    spread_ = apart == 0 ? 0 : apart / std::max(std::abs(first), 1e-30);
  }
  return *spread_;
}

}  // namespace dtypecheck::cures
