#include "cures/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/provenance.h"
#include "cures/merit.h"
#include "cures/prose.h"
#include "cures/verdict.h"
#include "ops/ops.h"
#include "rules/cures/cures.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::cures {
namespace {

bool acts_at_call(CureKind kind) {
  return kind == CureKind::kCastOperand || kind == CureKind::kCastModuleInput ||
         kind == CureKind::kOpenAutocast || kind == CureKind::kMoveAutocast;
}

std::string place_text(const Cure& cure) {
  return fmt::format("{}:{}:{}:{}", cure.where.file, cure.where.line, cure.where.extent.end_column,
                     cure.text);
}

DtypeSet odd_dtype(const OpCall& call, const Finding& finding) {
  const Operand* odd = call.operand(finding.odd_operand);
  return odd == nullptr ? DtypeSet() : odd->dtypes;
}

// Of one rule in one function, and odd in one dtype: the mean and the deviation that a line reads.
bool are_twins(const Finding& one, const Finding& other) {
  return one.rule == other.rule && one.site.line.file == other.site.line.file &&
         one.site.line.function == other.site.line.function;
}

// It is odd as what an op of the candidate gives, which would have the dtype that is wanted.
bool reads_cured(const Run& run, const Finding& other, const Candidate& candidate) {
  const OpCall* call = run.call(other.call);
  const Operand* odd = call == nullptr ? nullptr : call->operand(other.odd_operand);
  return odd != nullptr && odd->origin != kNoOpCall &&
         std::any_of(candidate.parts.begin(), candidate.parts.end(), [&](const Part& part) {
           return part.second->kind == CureKind::kCastOperand && part.second->call == odd->origin;
         });
}

void add_alike(const Node& node, const Finding& goal, const Cure& cure, Candidate& candidate) {
  const OpCall* own = node.run().call(goal.call);
  if (own == nullptr) return;
  std::set<std::string> places = {place_text(cure)}, cured = {goal.id};
  const auto add = [&](const Finding& finding, const Cure& its) {
    if (places.insert(place_text(its)).second) candidate.parts.emplace_back(&finding, &its);
  };
  // All that was rounded to Float before a difference; one of them rounds it still.
  const bool is_in_double = goal.rule == rules::far_from_float.doc.id &&
                            cure.kind == CureKind::kCastResult && cure.dtype == Dtype::kDouble;
  for (const Cure& its : goal.cures)
    if (is_in_double && its.kind == cure.kind && its.dtype == cure.dtype) add(goal, its);
  for (const Finding& other : node.trial->findings) {
    const OpCall* call = node.run().call(other.call);
    if (&other == &goal || call == nullptr) continue;
    if (odd_dtype(*call, other) != odd_dtype(*own, goal)) continue;
    if (reads_cured(node.run(), other, candidate)) continue;
    const bool is_cured_with_it =
        std::any_of(other.cures.begin(), other.cures.end(), [&](const Cure& its) {
          return its.kind == CureKind::kCastModuleInput && places.count(place_text(its)) != 0;
        });
    if (is_cured_with_it) {  // a model's call casts what several of its lines refuse
      cured.insert(other.id);
      continue;
    }
    const bool is_refused =
        is_refusal(node.run(), other) && acts_at_call(cure.kind) &&
        (cured.count(other.follows) == 0 || cure.kind == CureKind::kOpenAutocast);
    const auto find = [&](const auto& is_like) {
      return std::find_if(other.cures.begin(), other.cures.end(), [&](const Cure& its) {
        const bool is_same_rewrite = its.kind != CureKind::kRewrite || its.operand == cure.operand;
        return its.dtype == cure.dtype && is_like(its.kind) && is_same_rewrite;
      });
    };
    auto like = other.cures.end();
    const bool is_rewritten = cure.kind == CureKind::kRewrite &&
                              cure.where.file == other.site.line.file &&
                              cure.where.function == other.site.line.function;
    if (is_refused || is_rewritten || (are_twins(goal, other) && other.follows != goal.id))
      like = find([&](CureKind kind) { return kind == cure.kind; });
    if (is_refused && like == other.cures.end()) like = find(acts_at_call);
    if (like != other.cures.end()) add(other, *like);
  }
}

// What meets a trained parameter in 16 bits, of a model that is Float for the most part, is not
// lowered to it: its steps would still round away.
bool has_lone_trained_low_parameter(const Node& node, const Finding& goal) {
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

bool lowers(const Candidate& candidate) {
  return !candidate.parts.empty() && kLowPrecision.contains(candidate.parts.front().second->dtype);
}

// A cast that a change has put there, in another dtype.
bool takes_back(const Node& node, const Cure& cure) {
  return std::any_of(node.changes.begin(), node.changes.end(), [&](const Change& change) {
    return is_near(change.where, cure.where) && change.dtype != cure.dtype;
  });
}

bool has_scaler(const Run& run) {
  return std::any_of(run.calls.begin(), run.calls.end(), [](const OpCall& call) {
    return (ops::facts_of(call.op) & ops::kScalesGradients) != 0;
  });
}

// What the candidate casts was made by this call, on another line of the user's own.
const OpCall* origin_of(const Run& run, const Finding& goal, const Cure& cure) {
  const OpCall* call = run.call(cure.call);
  if (call == nullptr || cure.kind == CureKind::kCastResult) return call;
  const Operand* operand = call->operand(cure.operand);
  if (operand == nullptr) operand = call->operand(goal.odd_operand);
  const bool acts = acts_at_call(cure.kind) || cure.kind == CureKind::kCastVariable;
  const bool is_cast = operand != nullptr && acts && !operand->dtypes.contains(cure.dtype);
  const OpCall* origin = is_cast ? run.call(operand->origin) : nullptr;
  const bool is_own = origin != nullptr && origin->site.line.known() &&
                      is_users_own(origin->site) && !(origin->site.line == call->site.line);
  return is_own ? origin : nullptr;
}

// The lines that only hand it on to the goal, as the stack of a batch.
std::set<std::pair<std::string, int>> on_the_way_to(const Run& run, const Finding& goal) {
  std::set<std::pair<std::string, int>> lines;
  const OpCall* reader = run.call(goal.call);
  const Operand* odd = reader == nullptr ? nullptr : reader->operand(goal.odd_operand);
  if (odd == nullptr) return lines;
  for (const ProvenanceStep& step : ProvenanceIndex(run).trace_back(*reader, *odd).steps)
    if (step.call != nullptr) lines.emplace(step.call->site.line.file, step.call->site.line.line);
  return lines;
}

bool reads_parameter(const OpCall& call) {
  return std::any_of(call.operands.begin(), call.operands.end(), rules::is_weight);
}

bool reads_parameter_in_float(const OpCall& call) {
  const bool is_cast = (ops::facts_of(call.op) & ops::kCast) != 0;  // model.double()
  return !is_cast &&
         std::any_of(call.operands.begin(), call.operands.end(), [](const Operand& operand) {
           return rules::is_weight(operand) && !operand.is_written &&
                  operand.dtypes == DtypeSet(Dtype::kFloat);
         });
}

// Autocast chose its dtype, and no layer is called that could be called in the region.
bool was_lowered_for_others(const Run& run, const OpCall& origin, const Finding& goal) {
  const auto* region = origin.autocast.region_for(origin.device_type());
  const bool is_made = (ops::facts_of(origin.op) & ops::kFactory) != 0;
  const OpCall* call = run.call(goal.call);
  return region != nullptr && !is_made && origin.result_dtype() == region->dtype &&
         call != nullptr && !reads_parameter(*call);
}

// Its numbers were computed, in Double, of what the origin made.
bool comes_of(const Run& run, const Operand& operand, const OpCall& origin) {
  constexpr size_t kMostFollowed = 256;
  std::vector<OpCallId> reached = {operand.origin};
  std::set<OpCallId> seen;
  for (size_t next = 0; next < reached.size() && next < kMostFollowed; ++next) {
    if (reached[next] == origin.id) return true;
    const OpCall* call = run.call(reached[next]);
    if (call == nullptr || call->result_dtype() != Dtype::kDouble) continue;
    for (const Operand& read : call->operands)
      if (seen.insert(read.origin).second) reached.push_back(read.origin);
  }
  return false;
}

// It reads nothing else in Double but what comes of it, so that it would read Float as well; and
// gradients follow.
bool is_double_for_this_alone(const Run& run, const OpCall& call, const OpCall& origin) {
  const bool follows = call.site.phase == Phase::kBackward || call.site.phase == Phase::kOptimizer;
  return origin.result_dtype() == Dtype::kDouble &&
         (follows ||
          std::none_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
            return operand.dtypes.contains(Dtype::kDouble) && !operand.is_wrapped_number &&
                   !comes_of(run, operand, origin);
          }));
}

// It has what else it reads in the dtype that is wanted.
bool would_rather_read(const OpCall& call, const OpCall& origin, Dtype wanted) {
  bool has_wanted = false;
  for (const Operand& operand : call.operands) {
    if (operand.origin == origin.id || operand.is_wrapped_number) continue;
    has_wanted |= operand.dtypes == DtypeSet(wanted);
    if (operand.dtypes.contains(origin.result_dtype().value_or(wanted))) return false;
  }
  return has_wanted;
}

// Another line than the goal's reads it in the dtype that it has. zeros_like() takes whichever it
// is, and Long holds all integers.
bool is_needed(const Run& run, const OpCall& origin, const Finding& goal, Dtype wanted) {
  const bool are_integers =
      wanted == Dtype::kLong && kIntegral.contains(origin.result_dtype().value_or(Dtype::kFloat));
  if (are_integers) return false;
  if (was_lowered_for_others(run, origin, goal)) return true;
  if (rules::makes_several(run, origin)) return true;
  const auto on_the_way = on_the_way_to(run, goal);
  return std::any_of(run.calls.begin(), run.calls.end(), [&](const OpCall& call) {
    const bool overwrites = (ops::facts_of(call.op) & ops::kOverwrites) != 0;
    const bool meets_alike =
        std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
          return operand.origin != origin.id && !operand.is_wrapped_number &&
                 origin.result_dtype() && operand.dtypes == DtypeSet(*origin.result_dtype());
        });
    // In place it keeps its dtype, whichever that is.
    const auto reads = [&](const Operand& operand) {
      return operand.origin == origin.id && !(operand.is_written && (overwrites || !meets_alike));
    };
    return call.outcome == Outcome::kReturned && call.parent == kNoOpCall &&
           !ops::takes_no_values(call.op) && !(call.site.line == goal.site.line) &&
           !(call.site.line == origin.site.line) &&
           !on_the_way.contains({call.site.line.file, call.site.line.line}) &&
           !is_double_for_this_alone(run, call, origin) &&
           !would_rather_read(call, origin, wanted) &&
           std::any_of(call.operands.begin(), call.operands.end(), reads);
  });
}

// What many refusals have in common, as that autocast never opened, is of no one call: the refusal
// that has the same change.
const Finding& refusal_of(const Trial& trial, const Finding& goal, const Cure& cure) {
  if (goal.call != kNoOpCall) return goal;
  const auto has_it = [&](const Finding& finding) {
    return finding.call != kNoOpCall &&
           std::any_of(finding.cures.begin(), finding.cures.end(),
                       [&](const Cure& its) { return its.text == cure.text; });
  };
  const auto found = std::find_if(trial.findings.begin(), trial.findings.end(), has_it);
  return found == trial.findings.end() ? goal : *found;
}

// Where only the use is wrong, its own line is right if others need the dtype of the origin, and
// else the line of the origin.
void note_places(const Trial& trial, const Finding& of, std::vector<Candidate>& all) {
  const Run& run = trial.recorded.run;
  const auto is_result = [](const Candidate& one) {
    const CureKind kind = one.parts.front().second->kind;
    return kind == CureKind::kCastResult || kind == CureKind::kCastDrawn;
  };
  for (Candidate& one : all) {
    const Cure& cure = *one.parts.front().second;
    const Finding& goal = refusal_of(trial, of, cure);
    if (!is_refusal(run, goal)) continue;  // what reads rounded numbers takes others as well
    const OpCall* call = run.call(cure.call);
    const bool is_for_model = cure.kind == CureKind::kCastModuleInput && call != nullptr &&
                              cure.where == call->site.caller;
    if (is_for_model) continue;  // where a model begins is as good a place as where its data do
    const OpCall* origin = origin_of(run, goal, cure);
    const bool is_several = cure.operand.find(',') != std::string::npos;  // of which no line is all
    if (origin == nullptr || is_several) continue;
    const bool needed = is_needed(run, *origin, goal, cure.dtype);
    const bool has_other = std::any_of(all.begin(), all.end(), [&](const Candidate& other) {
      const Cure& its = *other.parts.front().second;
      return is_result(other) && other.ways.front().is_placed() && its.dtype == cure.dtype &&
             its.where == origin->site.line;
    });
    const bool is_for_all = is_result(one) || cure.kind == CureKind::kCastVariable;
    one.place = (is_for_all && needed) || (!is_result(one) && has_other && !needed) ? 1 : 0;
  }
}

// Loaded, or made in a dtype that a line names. What a model computes has that of its weights.
bool is_asked_for(const Run& run, const OpCall& call, const Operand& operand, bool by_casts) {
  const Provenance source = ProvenanceIndex(run).trace_back(call, operand);
  const bool is_computed =
      std::any_of(source.steps.begin(), source.steps.end(), [](const ProvenanceStep& step) {
        return step.call != nullptr && reads_parameter(*step.call);
      });
  const bool is_data = source.promotion == nullptr && source.parameter == nullptr && !is_computed;
  if (!is_data || source.maker == nullptr) return false;
  const uint64_t facts = ops::facts_of(source.maker->op);
  return (by_casts && (facts & ops::kCast) != 0) ||
         ((facts & ops::kFactory) != 0 && source.maker->scalar("dtype") != nullptr);
}

// A line raises 16 bits to compute in Float, or data to the Double of its model, or makes what no
// layer reads in Double, and would no more.
bool takes_back_raise(const Run& run, const Cure& cure) {
  const OpCall* cast = run.call(cure.call);
  const bool is_made_in_double =
      cure.kind == CureKind::kCastResult && cure.dtype == Dtype::kFloat && cast != nullptr &&
      (ops::facts_of(cast->op) & ops::kFactory) != 0 && cast->operands.empty() &&
      cast->scalar("dtype") != nullptr && cast->result_dtype() == Dtype::kDouble;
  if (is_made_in_double)
    return std::none_of(run.calls.begin(), run.calls.end(), reads_parameter_in_float);
  if (cure.kind != CureKind::kCastResult || cast == nullptr || cast->operands.empty() ||
      (ops::facts_of(cast->op) & ops::kCast) == 0)
    return false;
  const DtypeSet given = cast->operands.front().dtypes;
  if (cast->result_dtype() == Dtype::kFloat)
    return kLowPrecision.contains(cure.dtype) && given.within(kLowPrecision);
  // A run that died before it called the model has cast it.
  const auto has_model_in_double = [](const OpCall& call) {
    return std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
      const bool is_cast = call.site.phase == Phase::kLoad && operand.is_leaf &&
                           operand.requires_grad && call.result_dtype() == Dtype::kDouble;
      return is_cast || (is_parameter(operand) && operand.dtypes == DtypeSet(Dtype::kDouble));
    });
  };
  return cast->result_dtype() == Dtype::kDouble && given == DtypeSet(cure.dtype) &&
         std::any_of(run.calls.begin(), run.calls.end(), has_model_in_double);
}

// Where an op refuses a mix: it casts what was loaded in more digits, or made so where a line asks
// for them, and no layer in fewer reads that; nobody means Double beside a model in Float. Or it
// takes fewer digits back that a line asks for, beside what has the default's.
bool overrides(const Trial& trial, const Finding& goal, const Cure& cure) {
  const Run& run = trial.recorded.run;
  const OpCall* call = run.call(goal.call);
  const bool is_here = acts_at_call(cure.kind) || cure.kind == CureKind::kCastVariable ||
                       cure.kind == CureKind::kCastResult;
  const bool is_low = kLowPrecision.contains(cure.dtype);
  if (call == nullptr || !is_here || (!is_low && cure.dtype != Dtype::kFloat)) return false;
  const bool is_mix = call->floating_dtypes().size() > 1;
  const bool is_asked_low = std::any_of(trial.findings.begin(), trial.findings.end(),
                                        [](const Finding& its) { return its.is_asked_for; });
  // What is written to a parameter that is trained in fewer digits than it was meant to be.
  const bool is_kept_low =
      is_low && is_mix && !is_asked_low &&
      std::any_of(call->operands.begin(), call->operands.end(), [](const Operand& operand) {
        return operand.is_written && operand.requires_grad && !operand.parameter.empty();
      });
  // Or what an optimizer computes in Float.
  if (is_kept_low) return true;
  if (is_mix && call->site.phase == Phase::kOptimizer) return is_low;
  if (reads_parameter(*call) || !is_refusal(run, goal) || !is_mix) return false;
  const auto is_any = [&](DtypeSet dtypes, bool by_casts) {
    return std::any_of(call->operands.begin(), call->operands.end(), [&](const Operand& operand) {
      return operand.dtypes.within(dtypes) && operand.promotes() &&
             is_asked_for(run, *call, operand, by_casts);
    });
  };
  const DtypeSet in_float(Dtype::kFloat), in_double(Dtype::kDouble);
  if (is_low) return is_any(in_float | in_double, /*by_casts=*/false);
  if (is_any(kLowPrecision, /*by_casts=*/true) && !is_any(in_float, /*by_casts=*/true)) return true;
  return is_any(in_double, /*by_casts=*/true) &&
         std::none_of(run.calls.begin(), run.calls.end(), reads_parameter_in_float);
}

}  // namespace

bool raises_parameters(const Cure& cure) {
  return cure.kind == CureKind::kCastParameters && cure.dtype == Dtype::kFloat;
}

const Finding* recorded_alike(const std::vector<Finding>& recorded, const Finding& finding) {
  const auto is_there = [&](const Finding& its) {
    return its.rule == finding.rule && its.site.line == finding.site.line;
  };
  const auto same = std::find_if(recorded.begin(), recorded.end(), [&](const Finding& its) {
    return is_there(its) && name_of(its) == name_of(finding);
  });
  if (same != recorded.end()) return &*same;
  // The repair run may see inside of an op what the recorded one saw of the op as a whole.
  const auto alike = std::find_if(recorded.begin(), recorded.end(), is_there);
  return std::count_if(recorded.begin(), recorded.end(), is_there) == 1 ? &*alike : nullptr;
}

std::vector<Candidate> Candidates::for_finding(const Node& node, const Finding& goal) const {
  std::vector<Candidate> all;
  std::set<std::string> known;
  const bool is_begin = node.changes.empty();
  // Of what an op refuses behind a change, that change says more than the rules' order.
  const bool is_known = !is_begin && !is_refusal(node.run(), goal) && !goal.cures.empty();
  const std::string first = is_begin   ? shown_first(node, goal)
                            : is_known ? goal.cures.front().text
                                       : "";
  const auto add = [&](const Finding& finding) {
    for (const Cure& cure : finding.cures) {
      const bool is_first = cure.text == first;
      if (!known.insert(cure.text).second || (!is_first && is_harmful(node.run(), cure))) continue;
      if (cure.kind == CureKind::kCastResult && takes_back(node, cure)) continue;
      Candidate candidate{.parts = {{&finding, &cure}}};
      add_alike(node, goal, cure, candidate);
      const bool is_several = candidate.parts.size() > 1;
      if (is_first) candidate.rank = -1;  // whatever it is like
      all.push_back(std::move(candidate));
      if (is_several) all.push_back({.parts = {{&finding, &cure}}});
    }
  };
  add(goal);
  for (const Finding& finding : node.trial->findings)
    if (finding.follows == goal.id) add(finding);
  std::vector<std::vector<Part>> lists;
  for (const Candidate& candidate : all) lists.push_back(candidate.parts);
  auto ways =
      make_patches(lists, node.run(), node.trial->recorded.sources, node.program, node.patch);
  for (size_t i = 0; i < all.size(); ++i) all[i].ways = std::move(ways[i]);
  note_places(*node.trial, goal, all);
  for (Candidate& one : all) {
    const auto& [finding, cure] = one.parts.front();
    one.overrides = overrides(*node.trial, *finding, *cure) || takes_back_raise(node.run(), *cure);
  }
  add_settings(node, all);
  prefer_command_line(all);
  const bool is_lone = has_lone_trained_low_parameter(node, goal);
  const LowShare share = low_share(node.run());
  for (Candidate& candidate : all) {
    candidate.gives_up = candidate.setting != nullptr && share.calls > 0 &&
                         candidate.setting->dtype == Dtype::kFloat;
    candidate.in_double = !share.has_double && !candidate.parts.empty() &&
                          candidate.parts.front().second->kind == CureKind::kCastParameters &&
                          candidate.parts.front().second->dtype == Dtype::kDouble;
    if (candidate.rank < 0) continue;
    candidate.rank = rank_of(node, goal, candidate) + (is_lone && lowers(candidate) ? 5 : 0);
    // What else was refused of the same is cured there, and seldom what came before it.
    if (!candidate.is_of(goal) && is_refusal(node.run(), goal))
      candidate.rank = std::max(candidate.rank, kLater);
  }
  std::stable_sort(all.begin(), all.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    Merit of_a = best_merit(node, a, a.ways.front()), of_b = best_merit(node, b, b.ways.front());
    of_a.edits = of_b.edits = 0;  // the rules know better what is likely
    return of_a < of_b;
  });
  return all;
}

// What reports of the recorded run call `try`. Another run may tell of what the goal follows from.
std::string Candidates::shown_first(const Node& node, const Finding& goal) const {
  for (const Finding& finding : node.trial->findings) {
    const bool is_asked = finding.id == goal.id || finding.follows == goal.id;
    const Finding* shown = is_asked ? recorded_alike(recorded_, finding) : nullptr;
    const bool is_known =
        shown != nullptr && std::any_of(finding.cures.begin(), finding.cures.end(),
                                        [&](const Cure& cure) { return cure.text == shown->fix; });
    if (is_known) return shown->fix;
  }
  return goal.cures.empty() ? "" : goal.cures.front().text;
}

Merit Candidates::best_merit(const Node& node, const Candidate& candidate, const Patch& way) {
  const bool is_setting = candidate.setting != nullptr;
  Merit merit = merit_of_source(way, is_setting || !node.prompt.empty(), node.changes);
  merit.place += candidate.place;
  merit.overrides |= candidate.overrides;
  if (candidate.gives_up) merit.given_up = 1;
  merit.in_double = candidate.in_double;
  return merit;
}

// An edit comes before a setting where an op refused a mix or a line loses digits, and behind it
// where trained weights are in 16 bits. What gives 16 bits up comes last, and an edit that does so
// behind the setting. Who opens autocast nowhere casts. What the command line can say is not
// written into a source. Once a model is raised, who lowers data for it by a line of the program
// takes that back rather than casting where the data are read.
int Candidates::rank_of(const Node& node, const Finding& goal, const Candidate& candidate) const {
  constexpr int kHarms = 0, kEdit = 1, kSetting = 2, kFloatSetting = 4, kFloatModel = 5;
  if (candidate.setting != nullptr) {
    if (candidate.setting->dtype == Dtype::kFloat) return kFloatSetting;
    if (is_refusal(node.run(), goal)) return kSetting;
    return loses_steps(goal) ? kHarms : kLater;
  }
  const Cure& cure = *candidate.parts.front().second;
  const bool is_said = std::any_of(settings_.begin(), settings_.end(), [&](const Setting& its) {
    return its.dtype == cure.dtype && !its.prompt.empty();
  });
  if (cure.kind == CureKind::kSetting && is_said) return kLater;
  if (cure.kind == CureKind::kOpenAutocast && !has_autocast(recorded_run_)) {
    // What 16-bit weights computed goes on in 16 bits once they are raised.
    const bool loses = std::any_of(recorded_.begin(), recorded_.end(), loses_steps);
    return node.raises_model && loses ? kEdit : kLater;
  }
  if (acts_at_call(cure.kind) && cure.dtype == Dtype::kFloat && node.raises_model) return kLater;
  const bool has_float_setting =
      std::any_of(settings_.begin(), settings_.end(),
                  [](const Setting& its) { return its.dtype == Dtype::kFloat; });
  return raises_parameters(cure) && has_float_setting ? kFloatModel : kEdit;
}

// What reports say first may be what a keyword asks for, and the command line asks for as well: who
// types it there changes nothing for others.
void Candidates::prefer_command_line(std::vector<Candidate>& all) const {
  const auto said = std::find_if(all.begin(), all.end(), [](const Candidate& one) {
    return one.rank < 0 && one.setting == nullptr &&
           one.parts.front().second->kind == CureKind::kSetting;
  });
  if (said == all.end()) return;
  const Dtype dtype = said->parts.front().second->dtype;
  const auto typed = std::find_if(all.begin(), all.end(), [&](const Candidate& one) {
    return one.setting != nullptr && one.setting->dtype == dtype && !one.setting->prompt.empty();
  });
  if (typed != all.end()) std::swap(typed->rank, said->rank);
}

void Candidates::add_settings(const Node& node, std::vector<Candidate>& all) const {
  if (!node.patch.edits.empty() || !node.prompt.empty()) return;
  for (const Dtype dtype : {Dtype::kBFloat16, Dtype::kHalf, Dtype::kFloat})
    for (const Setting& setting : settings_)
      if (setting.dtype == dtype) all.push_back({.setting = &setting, .ways = {setting.patch}});
}

static bool is_trained_in_float(const Operand& operand) {
  return operand.requires_grad && operand.is_leaf && is_parameter(operand) &&
         operand.dtypes.within(DtypeSet(Dtype::kFloat));
}

// Trained weights keep their digits, and in Half nothing is trained without a loss scale.
bool Candidates::is_harmful(const Run& run, const Cure& cure) const {
  if (!kLowPrecision.contains(cure.dtype)) return false;
  if (cure.kind == CureKind::kOpenAutocast && cure.dtype == Dtype::kHalf)
    return trains_in_float() && !has_scaler(run);
  const OpCall* call = run.call(cure.call);
  if (call == nullptr || cure.kind != CureKind::kCastParameters) return false;
  const Operand* operand = call->operand(cure.operand);
  return operand != nullptr
             ? is_trained_in_float(*operand)
             : std::any_of(call->operands.begin(), call->operands.end(), is_trained_in_float);
}

// The call of a trained model, or of the loss behind it: calls that are alike are stored with the
// first one's line, which may be that of an evaluation.
std::optional<Cure> autocast_for_raised(const Run& run) {
  if (has_autocast(run)) return std::nullopt;
  const OpCall *layer = nullptr, *loss = nullptr;
  for (const OpCall& call : run.calls) {
    const bool is_of_training = call.site.phase == Phase::kForward && !call.results.empty() &&
                                call.results.front().requires_grad && is_users_own(call.site);
    if (!is_of_training) continue;
    const uint64_t facts = ops::facts_of(call.op);
    const bool is_layer =
        (facts & ops::kMultiplies) != 0 && !call.site.module.empty() &&
        std::any_of(call.operands.begin(), call.operands.end(), is_trained_in_float);
    if (is_layer && layer == nullptr) layer = &call;
    if ((facts & ops::kLoss) != 0 && loss == nullptr) loss = &call;
  }
  const OpCall* found = layer != nullptr ? layer : loss;
  if (found == nullptr) return std::nullopt;
  Cure cure{.kind = CureKind::kOpenAutocast, .dtype = Dtype::kBFloat16, .call = found->id};
  if (layer != nullptr) cure.operand = rules::root_module(layer->site.module);
  const SourceLine& caller = found->site.caller;
  cure.where = layer != nullptr && caller.known() ? caller : found->site.line;
  cure.text = fmt::format("run {} under autocast in BFloat16, {}",
                          cure.operand.empty() ? "the line" : cure.operand,
                          place(Site{.line = cure.where}));
  return cure;
}

bool Candidates::trains_in_float() const {
  return std::any_of(trained_.begin(), trained_.end(), [](const auto& parameter) {
    return parameter.second.intersects(DtypeSet(Dtype::kFloat));
  });
}

}  // namespace dtypecheck::cures
