#include "rules/engine/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/follow_links.h"
#include "rules/engine/caught.h"
#include "rules/engine/code_line.h"
#include "rules/engine/mix.h"
#include "rules/engine/throws.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

// Op calls that a replay looks at, all cures together: some seconds. A run with thousands of
// findings has most of its cures unchecked.
constexpr size_t kMaxWork = 3'000'000;

constexpr size_t kFinding = 100;  // what a finding costs beside
constexpr const char* kTooMany = "the run has more cures than are checked";

bool is_backward(const OpCall& call) { return call.site.phase == Phase::kBackward; }

std::string where(const OpCall& call) { return call.op + at_place(call.site); }

}  // namespace

Replay::Replay(const RunIndex& index, const JudgeOptions& options)
    : index_(index),
      run_(index.run()),
      places_(index),
      spread_(index, places_, *options.contracts),
      rules_(run_, options),
      ahead_(index, options),
      line_text_(options.line_text) {
  for (const OpCall& call : run_.calls) {
    if (!was_refused(call)) continue;
    refused_.push_back(call.id);
    if (call.follows != kNoOpCall) followers_.push_back(call.id);
    follow_links(&call, [&](const OpCall& at) {
      return around_.insert(at.id).second ? run_.call(at.parent) : nullptr;
    });
  }
}

void Replay::judge(const Finding& finding, Cure& cure) {
  Ruling ruling = rule(finding, cure);
  cure.verdict = ruling.verdict;
  cure.reason = std::move(ruling.reason);
}

// Half's range and digits are the fewest, so Float comes before BFloat16 and that before Half.
static int rank_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kHalf:
      return 2;
    case Dtype::kBFloat16:
      return 1;
    default:
      return 0;
  }
}

static int rank_of(CureVerdict verdict) {
  switch (verdict) {
    case CureVerdict::kHolds:
    case CureVerdict::kHoldsSoFar:
      return 0;
    case CureVerdict::kUnchecked:
      return 1;
    case CureVerdict::kFails:
      return 2;
  }
  return 2;
}

void Replay::judge(std::vector<Finding>& findings) {
  // What holds, then what leaves trained parameters as precise as they are, then what most other
  // repairs go with, then the smallest change; where two are about as large, the one that keeps
  // more digits.
  const auto rank = [&](const Finding& finding, const Cure& cure) {
    const CureSeeds& seeds = effect_of(finding, cure).seeds;
    const size_t left = cure.verdict == CureVerdict::kFails ? 0 : consequences_left(finding, cure);
    // Of a run that died there the rule knows better what was meant than what little follows.
    if (cure.verdict == CureVerdict::kHoldsSoFar)
      return std::tuple(rank_of(cure.verdict), seeds.lowers_trained, is_vague(cure), left,
                        static_cast<int>(leaves_cause(finding, cure)), ahead(finding, cure),
                        size_t{0});
    const auto size = static_cast<double>(std::max<size_t>(seeds.touched, 1));
    return std::tuple(rank_of(cure.verdict), seeds.lowers_trained, is_vague(cure), left,
                      static_cast<int>(std::log2(size) / 2), rank_of(cure.dtype), seeds.touched);
  };
  for (const Finding& finding : findings) keys_[finding.id] = key_of(finding, run_);
  for (Finding& finding : findings) {
    if (finding.cures.empty()) continue;
    if (work_ > kMaxWork) {
      for (Cure& cure : finding.cures) cure.reason = kTooMany;
      continue;
    }
    work_ += kFinding;
    const std::string first = finding.cures.front().text;
    using Ranked = std::pair<decltype(rank(finding, finding.cures.front())), Cure>;
    std::vector<Ranked> ranked;
    for (Cure& cure : finding.cures) {
      judge(finding, cure);
      ranked.emplace_back(rank(finding, cure), std::move(cure));
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.first < b.first; });
    for (size_t i = 0; i < ranked.size(); ++i) finding.cures[i] = std::move(ranked[i].second);
    const Cure& best = finding.cures.front();
    // What the engine has added to the words stays behind them.
    const std::string more = finding.fix.starts_with(first) ? finding.fix.substr(first.size()) : "";
    const Rule* rule = find_rule(finding.rule);
    finding.fix = best.verdict != CureVerdict::kFails ? best.text + more
                  : rule == nullptr
                      ? ""
                      : fmt::format("none that was checked holds; in general: {}", rule->doc.fix);
  }
  lend_cures(findings);
}

// A cause without a cure that holds has that of its consequence, where one does.
void Replay::lend_cures(std::vector<Finding>& findings) {
  const auto has_one = [](const Finding& finding) {
    return !finding.cures.empty() && finding.cures.front().verdict != CureVerdict::kFails;
  };
  std::map<std::string_view, Finding*> causes;
  for (Finding& finding : findings) {
    if (!finding.cures.empty() && !has_one(finding)) causes[finding.id] = &finding;
  }
  for (const Finding& finding : findings) {
    const auto cause = causes.find(finding.follows);
    if (cause == causes.end() || !has_one(finding)) continue;
    Finding& lacking = *cause->second;
    lacking.fix = finding.fix;
    lacking.cures.insert(lacking.cures.begin(), finding.cures.front());
    causes.erase(cause);
  }
}

const Replay::Effect& Replay::effect_of(const Finding& finding, const Cure& cure) {
  const std::string odd = finding.call == cure.call ? finding.odd_operand : "";
  const std::string key = places_.key(cure, odd);
  const auto [entry, is_new] = effects_.try_emplace(key);
  if (is_new) entry->second = work_out(cure, odd);
  return entry->second;
}

Replay::Effect Replay::work_out(const Cure& cure, const std::string& odd) {
  if (work_ > kMaxWork) return {.seeds = {.doubt = kTooMany}};
  Effect effect{.seeds = places_.seeds(cure, odd)};
  if (!effect.seeds.wrong.empty() || effect.seeds.is_empty()) return effect;
  const ChangedCalls changed = spread_.follow(effect.seeds);
  work_ += changed.size();
  for (const auto& [id, call] : changed) {
    const OpCall& recorded = *run_.call(id);
    if (around_.contains(id)) effect.refused_before[id] = call.fate;
    if (call.fate == Fate::kFine || !index_.is_judged(recorded)) continue;
    if (is_backward(recorded) && !was_refused(recorded)) continue;
    const std::vector<OpCallId> children = places_.children(recorded);
    const bool is_innermost = std::none_of(children.begin(), children.end(), [&](OpCallId child) {
      const auto inside = changed.find(child);
      return inside != changed.end() && inside->second.fate == call.fate;
    });
    if (!is_innermost) continue;
    const OpCall now = spread_.with(recorded, call, effect.seeds);
    const bool is_refused = call.fate == Fate::kRefused && !may_be_cast_inside(cure, now) &&
                            (was_refused(recorded) || !may_cast(recorded));
    (is_refused ? effect.refused : effect.unknown).push_back(id);
    effect.words[id] = refusal_words(now);
  }
  std::sort(effect.refused.begin(), effect.refused.end());
  std::sort(effect.unknown.begin(), effect.unknown.end());
  effect.undone = undone_by_autocast(changed, effect.seeds);
  const bool is_hopeless = std::any_of(effect.refused.begin(), effect.refused.end(),
                                       [&](auto id) { return !was_refused(*run_.call(id)); });
  if (is_hopeless) return effect;
  work_ += rules_.cost();
  effect.after = rules_.after(changed, healed(changed), [&](const OpCall& call) {
    return spread_.with(call, changed.at(call.id), effect.seeds);
  });
  for (const auto& [key, finding] : effect.after) {
    const auto its = changed.find(finding.call);
    if (its == changed.end()) continue;
    const OpCall& call = *run_.call(finding.call);
    const bool is_doubtful =
        may_cast(call) || may_be_cast_inside(cure, spread_.with(call, its->second, effect.seeds));
    if (is_doubtful) effect.doubtful.insert(key);
  }
  return effect;
}

// With a refused call that now goes through go the calls around it that threw for it, those inside,
// and the same exception where it was seen again on its way through Python.
std::set<OpCallId> Replay::healed(const ChangedCalls& changed) const {
  std::set<OpCallId> healed;
  std::set<std::pair<uint32_t, std::string>> messages;
  const auto is_fine = [&](const OpCall& call) {
    const auto its = changed.find(call.id);
    return its != changed.end() && its->second.fate == Fate::kFine;
  };
  const auto is_still_refused = [&](const OpCall& call) {
    const auto its = changed.find(call.id);
    return its != changed.end() && its->second.fate == Fate::kRefused;
  };
  for (const OpCallId id : refused_) {
    const OpCall& call = *run_.call(id);
    if (!is_fine(call)) continue;
    healed.insert(id);
    const OpCall* thrower = index_.thrower(call);
    if (thrower != nullptr) messages.emplace(call.process, as_raised(thrower->error));
  }
  for (const OpCallId id : refused_) {
    const OpCall& call = *run_.call(id);
    const OpCall* thrower = index_.thrower(call);
    const bool is_around = thrower != nullptr && healed.contains(thrower->id);
    bool is_inside = false;
    follow_links(run_.call(call.parent), [&](const OpCall& outer) {
      is_inside = healed.contains(outer.id) || is_fine(outer);
      return is_inside ? nullptr : run_.call(outer.parent);
    });
    const bool is_echo =
        call.op.starts_with("python::") && messages.contains({call.process, as_raised(call.error)});
    const bool is_part = (is_around || is_inside) && !is_still_refused(call);
    if (is_part || is_echo) healed.insert(id);
  }
  return healed;
}

// A user's line casts up and autocast would cast down again.
std::string Replay::undone_by_autocast(const ChangedCalls& changed, const CureSeeds& seeds) const {
  for (const OpCallId id : seeds.under_autocast) {
    const auto its = changed.find(id);
    const bool is_lowered = its != changed.end() && !its->second.results.empty() &&
                            its->second.results.front() == DtypeSet(seeds.region.dtype);
    if (!is_lowered) continue;
    for (const Operand& operand : run_.call(id)->operands) {
      const OpCall* cast = run_.call(operand.origin);
      const bool is_deliberate =
          cast != nullptr && cast->parent == kNoOpCall && index_.has(*cast, ops::kCast) &&
          operand.dtypes == DtypeSet(Dtype::kFloat) && operand.parameter.empty() &&
          cast->result_dtype() == Dtype::kFloat && !cast->operands.empty() &&
          cast->operands.front().dtypes.within(kLowPrecision) && is_users_own(cast->site);
      const bool casts_again =
          is_deliberate && !index_.promotes(*run_.call(id)) && cast->site.phase == Phase::kForward;
      if (casts_again)
        return fmt::format("autocast would cast back what {} casts to Float", where(*cast));
    }
  }
  return "";
}

// A library may cast what it makes to the dtype of its input: where that was so already, no cast is
// in the run.
bool Replay::may_be_cast_inside(const Cure& cure, const OpCall& changed) const {
  if (cure.kind != CureKind::kCastModuleInput || is_users_own(changed.site)) return false;
  return std::any_of(changed.operands.begin(), changed.operands.end(), [&](const Operand& operand) {
    const bool is_made_inside = operand.parameter.empty() && operand.origin != kNoOpCall &&
                                !places_.is_from_outside(operand, cure.operand);
    return is_made_inside && operand.is_floating() && operand.dtypes != DtypeSet(cure.dtype);
  });
}

// The line is known, and what to write there is not: it has two things that may be meant. Or it is
// known around what, and not at which line.
bool Replay::is_vague(const Cure& cure) const {
  if (cure.kind == CureKind::kOpenAutocast && !cure.where.known() && line_text_) return true;
  return cure.code.empty() && cure.where.known() && line_text_ &&
         !line_text_(cure.where.file, cure.where.line).empty();
}

// The line casts something, and a cast that changed nothing when it was recorded is not in the run.
bool Replay::may_cast(const OpCall& call) const {
  if (!line_text_) return false;
  const SourceLine& line = call.site.inner.known() ? call.site.inner : call.site.line;
  const std::string text = CodeLine::at(line_text_, line).text;
  constexpr std::string_view kCasts[] = {".float()", ".half()",   ".bfloat16()", ".double()",
                                         ".to(",     ".type_as(", ".type("};
  return std::any_of(std::begin(kCasts), std::end(kCasts),
                     [&](std::string_view cast) { return text.find(cast) != text.npos; });
}

// "a Half input with a Float weight", or the dtypes alone.
std::string Replay::refusal_words(const OpCall& changed) const {
  if (auto mix = find_mix(index_, changed, /*with_scalars=*/true)) {
    if (mix->odd.is_parameter() && !mix->met.is_parameter()) std::swap(mix->odd, mix->met);
    return fmt::format("a {} {} with a {} {}", dtype_name(mix->odd.dtype), mix->odd.noun(),
                       dtype_name(mix->met.dtype), mix->met.noun());
  }
  for (const Operand& operand : changed.operands) {
    if (operand.is_floating()) return fmt::format("a {} {}", dtype_word(operand), operand.name);
  }
  return "these dtypes";
}

Replay::Family Replay::family_of(const Finding& finding) const {
  Family family;
  std::vector<OpCallId> about = finding.related;
  about.push_back(finding.call);
  for (const OpCallId id : about) {
    const OpCall* call = run_.call(id);
    if (call == nullptr) continue;
    family.insert(id);
    const OpCall* thrower = index_.thrower(*call);
    if (thrower == nullptr) continue;
    const OpCall& outermost = index_.refused_by_user(*thrower);
    follow_links(thrower, [&](const OpCall& at) {
      family.insert(at.id);
      return &at == &outermost ? nullptr : run_.call(at.parent);
    });
  }
  return family;
}

// Of it, or repaired only because one of it had been.
bool Replay::is_in(const Family& family, const OpCall& call) const {
  bool is_in = false;
  follow_links(&call, [&](const OpCall& at) {
    is_in = family.contains(at.id);
    return is_in ? nullptr : run_.call(at.follows);
  });
  return is_in;
}

// Calls that --keep-going repaired behind the finding's own, and that the cure leaves as they are.
// A fault of their own is no fault of the cure.
size_t Replay::consequences_left(const Finding& finding, const Cure& cure) {
  const Effect& effect = effect_of(finding, cure);
  const Family family = family_of(finding);
  return static_cast<size_t>(std::count_if(followers_.begin(), followers_.end(), [&](OpCallId id) {
    const OpCall& call = *run_.call(id);
    return !effect.refused_before.contains(id) && is_in(family, call);
  }));
}

// What the finding came of, a promotion say, is there as before: it gives the next line or the next
// step what this one refused.
bool Replay::leaves_cause(const Finding& finding, const Cure& cure) {
  const auto cause = keys_.find(finding.follows);
  return cause != keys_.end() && effect_of(finding, cure).after.contains(cause->second);
}

// What the lines behind the one that died would say to it.
int Replay::ahead(const Finding& finding, const Cure& cure) const {
  const OpCall* call = run_.call(finding.call);
  return call == nullptr ? 0 : static_cast<int>(ahead_.of(*call, cure));
}

// Nothing is known of what comes behind it.
bool Replay::ended_there(const Finding& finding) const {
  const OpCall* call = run_.call(finding.call);
  const Process& process = run_.processes.at(finding.process);
  if (call != nullptr && call->outcome == Outcome::kThrew && !was_caught(run_, *call)) return true;
  return ended_badly(process);
}

Replay::Ruling Replay::rule(const Finding& finding, const Cure& cure) {
  const Effect& effect = effect_of(finding, cure);
  if (!effect.seeds.wrong.empty()) return {CureVerdict::kFails, effect.seeds.wrong};
  if (effect.seeds.is_empty()) return {CureVerdict::kUnchecked, effect.seeds.doubt};
  const Family family = family_of(finding);
  Ruling refusal = rule_refusal(finding, cure, effect, family);
  if (refusal.verdict == CureVerdict::kFails) return refusal;
  if (!effect.undone.empty()) return {CureVerdict::kFails, effect.undone};
  Ruling said = rule_words(finding, effect);
  if (said.verdict == CureVerdict::kFails) return said;
  if (refusal.verdict == CureVerdict::kUnchecked) return refusal;
  if (said.verdict == CureVerdict::kUnchecked) return said;
  if (!effect.seeds.doubt.empty()) return {CureVerdict::kUnchecked, effect.seeds.doubt};
  if (!ended_there(finding)) return {CureVerdict::kHolds, ""};
  const OpCall* call = run_.call(finding.call);
  return {CureVerdict::kHoldsSoFar,
          fmt::format("the run ended {}, and what comes behind is not known",
                      call == nullptr ? "early" : "in " + where(*call))};
}

// Calls that were not refused before must not be now, and the finding's own no longer.
Replay::Ruling Replay::rule_refusal(const Finding& finding, const Cure& cure, const Effect& effect,
                                    const Family& family) const {
  const auto concerns = [&](OpCallId id) {
    const OpCall& call = *run_.call(id);
    return !was_refused(call) || is_in(family, call);
  };
  for (const OpCallId id : effect.refused) {
    if (!concerns(id)) continue;
    const OpCall& call = *run_.call(id);
    return {CureVerdict::kFails,
            fmt::format("{} would {}refuse {}", where(call), was_refused(call) ? "still " : "",
                        effect.words.at(id))};
  }
  const auto unknown = std::find_if(effect.unknown.begin(), effect.unknown.end(), concerns);
  if (unknown != effect.unknown.end()) {
    return {CureVerdict::kUnchecked,
            fmt::format("it is not known whether {} takes {}", where(*run_.call(*unknown)),
                        effect.words.at(*unknown))};
  }
  std::vector<OpCallId> about = finding.related;
  about.insert(about.begin(), finding.call);
  for (const OpCallId id : about) {
    const OpCall* call = run_.call(id);
    if (call == nullptr || !was_refused(*call)) continue;
    const OpCall* thrower = index_.thrower(*call);
    bool is_fine = false;
    follow_links(thrower == nullptr ? call : thrower, [&](const OpCall& at) -> const OpCall* {
      const auto its = effect.refused_before.find(at.id);
      is_fine = its != effect.refused_before.end() && its->second == Fate::kFine;
      return is_fine ? nullptr : run_.call(at.parent);
    });
    if (!is_fine && may_be_cast_inside(cure, *call)) {
      return {CureVerdict::kUnchecked,
              fmt::format("it is not known whether {} casts what {} gets to the dtype of its input",
                          cure.operand, where(*call))};
    }
    if (!is_fine) {
      return {CureVerdict::kFails, fmt::format("it does not reach {}, which would still refuse {}",
                                               where(*call), refusal_words(*call))};
    }
  }
  return {CureVerdict::kHolds, ""};
}

Replay::Ruling Replay::rule_words(const Finding& finding, const Effect& effect) {
  const OpCall* call = run_.call(finding.call);
  const std::string own = key_of(finding, run_);
  if (call == nullptr || !was_refused(*call)) {
    const bool is_there = rules_.before().contains(own) && effect.after.contains(own);
    if (is_there)
      return {CureVerdict::kFails,
              fmt::format("{} stays: {}", finding.rule, effect.after.at(own).message)};
  }
  Ruling ruling{CureVerdict::kHolds, ""};
  for (const auto& [key, after] : effect.after) {
    if (rules_.before().contains(key) || key == own) continue;
    const bool is_doubtful = effect.doubtful.contains(key);
    ruling = {is_doubtful ? CureVerdict::kUnchecked : CureVerdict::kFails,
              fmt::format("{} {}{} ({})", is_doubtful ? "unless the line casts," : "then",
                          after.message, at_place(after.site), after.rule)};
    if (!is_doubtful) break;
  }
  return ruling;
}

}  // namespace dtypecheck::rules
