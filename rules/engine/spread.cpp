#include "rules/engine/spread.h"

#include <algorithm>
#include <set>

#include "core/follow_links.h"
#include "platform/hash.h"
#include "rules/engine/mix.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

constexpr DtypeSet kAutocastable = kLowPrecision | Dtype::kFloat;  // Double stays as it is
constexpr int kMaxVisits = 8;  // of one call: a run's steps are a circle of readers

bool is_tensor(const Operand& operand) {
  return operand.kind != TensorKind::kUndefined && !operand.is_wrapped_number;
}

std::vector<DtypeSet> dtypes_of(const std::vector<Operand>& operands) {
  std::vector<DtypeSet> dtypes;
  for (const Operand& operand : operands) dtypes.push_back(operand.dtypes);
  return dtypes;
}

bool is_backward(const OpCall& call) { return call.site.phase == Phase::kBackward; }

// The dtype that all floating operands have; none where they differ or there are none.
std::optional<Dtype> one_dtype(const OpCall& call) {
  DtypeSet dtypes;
  for (const Operand& operand : call.operands) {
    if (operand.is_floating() && is_tensor(operand)) dtypes |= operand.dtypes;
  }
  return dtypes.single();
}

uint64_t mixed_in(uint64_t hash, uint64_t value) {
  return (hash ^ (value + 0x9e3779b97f4a7c15ULL + (hash << 6))) * 0x100000001b3ULL;
}

uint64_t hash_of(const OpCall& call) {
  uint64_t hash = fnv1a_next(call.overload, fnv1a(call.op));
  hash = mixed_in(hash, static_cast<uint64_t>(call.outcome));
  for (const Operand& o : call.operands) {
    hash = fnv1a_next(o.name, hash);
    const uint64_t flags = static_cast<uint64_t>(o.kind) << 8 | uint64_t{o.is_wrapped_number} << 4 |
                           uint64_t{o.requires_grad} << 3 | uint64_t{o.is_written} << 2 |
                           uint64_t{o.has_shape && o.shape.empty()} << 1;
    hash = mixed_in(mixed_in(hash, o.dtypes.bits()), flags);
  }
  for (const Operand& result : call.results) hash = mixed_in(hash, result.dtypes.bits());
  for (const ScalarArgument& scalar : call.scalars) {
    if (scalar.dtype) hash = mixed_in(hash, static_cast<uint64_t>(*scalar.dtype));
  }
  for (const AutocastState::Region& region : call.autocast.enabled)
    hash = mixed_in(fnv1a_next(region.device, hash), static_cast<uint64_t>(region.dtype));
  return hash;
}

}  // namespace

struct Spread::Work {
  const CureSeeds& seeds;
  ChangedCalls calls = {};
  std::set<OpCallId> waiting = {};
  std::unordered_map<OpCallId, int> visits = {};
};

Spread::Spread(const RunIndex& index, const CurePlaces& places,
               const contracts::Contracts& contracts)
    : index_(index), run_(index.run()), places_(places), contracts_(contracts) {}

ChangedCalls Spread::follow(const CureSeeds& seeds) {
  Work work{.seeds = seeds};
  for (const auto& [id, operands] : seeds.operands) work.waiting.insert(id);
  work.waiting.insert(seeds.under_autocast.begin(), seeds.under_autocast.end());
  for (const OpCallId id : seeds.results) {
    const OpCall& call = *run_.call(id);
    std::vector<DtypeSet> results = dtypes_of(call.results);
    const DtypeSet first = results.front();
    for (DtypeSet& result : results) {
      if (result == first) result = seeds.dtype;
    }
    work.calls[id] = {dtypes_of(call.operands), results};
    for (const OpCallId reader : index_.consumers(call)) work.waiting.insert(reader);
  }
  while (!work.waiting.empty()) {
    const OpCallId next = *work.waiting.begin();
    work.waiting.erase(work.waiting.begin());
    if (work.visits[next]++ < kMaxVisits) visit(*run_.call(next), work);
  }
  settle(work.calls);
  return std::move(work.calls);
}

// Of several results those that had the operand's dtype.
DtypeSet Spread::now(const Operand& operand, const Work& work) const {
  const auto changed = work.calls.find(operand.origin);
  if (changed == work.calls.end()) return operand.dtypes;
  const std::vector<Operand>& results = run_.call(operand.origin)->results;
  DtypeSet dtypes = operand.dtypes;
  for (size_t i = 0; i < results.size() && i < changed->second.results.size(); ++i) {
    if (results[i].dtypes != operand.dtypes) continue;
    dtypes = changed->second.results[i];
    if (results[i].shape == operand.shape) break;
  }
  return dtypes;
}

std::vector<DtypeSet> Spread::operands_of(const OpCall& call, const Work& work) const {
  std::vector<DtypeSet> dtypes;
  for (const Operand& operand : call.operands) {
    dtypes.push_back(now(operand, work));
  }
  const auto cast = work.seeds.operands.find(call.id);
  if (cast == work.seeds.operands.end()) return dtypes;
  for (const size_t i : cast->second) dtypes[i] = work.seeds.dtype;
  return dtypes;
}

// Below the call that autocast made with what it had cast, all is as it was; and what the call
// around was found to do under a region that the cure opens, the calls inside do not change.
bool Spread::is_settled_by_autocast(const OpCall& call, const Work& work) const {
  bool is_settled = false;
  follow_links(&call, [&](const OpCall& at) -> const OpCall* {
    const auto changed = work.calls.find(at.id);
    const bool is_around = &at != &call && work.seeds.under_autocast.contains(at.id) &&
                           changed != work.calls.end() && changed->second.fate != Fate::kUnknown;
    is_settled = at.autocast.is_inner || is_around;
    return is_settled ? nullptr : run_.call(at.parent);
  });
  return is_settled;
}

void Spread::visit(const OpCall& call, Work& work) {
  if (!index_.is_judged(call) || is_settled_by_autocast(call, work)) return;
  const bool opens = !work.seeds.under_autocast.empty();
  if (opens && is_backward(call)) return;  // autograd remembers autocast's casts itself
  ChangedCall changed{.operands = operands_of(call, work)};
  changed.in_autocast = work.seeds.under_autocast.contains(call.id);
  const auto before = work.calls.find(call.id);
  const std::vector<DtypeSet> recorded = dtypes_of(call.operands);
  const bool is_as_recorded = changed.operands == recorded && !changed.in_autocast;
  if (is_as_recorded && before == work.calls.end()) return;
  if (work.seeds.results.contains(call.id)) return;  // its dtype is the cure's
  const Answer& answer = ask(call, changed, work.seeds);
  changed.fate = answer.fate;
  changed.results = answer.results;
  if (work.seeds.back != Dtype::kUndefined && work.seeds.operands.contains(call.id)) {
    for (DtypeSet& result : changed.results) {
      if (result == DtypeSet(work.seeds.dtype)) result = work.seeds.back;
    }
  }
  if (is_as_recorded) {  // a later visit took back what an earlier one found
    changed.fate = call.outcome == Outcome::kReturned ? Fate::kFine : Fate::kRefused;
    changed.results = dtypes_of(call.results);
  } else if (answer.fate == Fate::kUnknown) {
    changed.results = results_of_children(call, work);
  }
  const bool is_news = before == work.calls.end() ? changed.results != dtypes_of(call.results)
                                                  : changed.results != before->second.results;
  work.calls[call.id] = std::move(changed);
  if (!is_news) return;
  for (const OpCallId reader : index_.consumers(call)) work.waiting.insert(reader);
  visit_parent(call, work);
}

void Spread::visit_parent(const OpCall& call, Work& work) const {
  const OpCall* parent = run_.call(call.parent);
  if (parent == nullptr) return;
  const auto around = work.calls.find(parent->id);
  if (around != work.calls.end() && around->second.fate == Fate::kUnknown)
    work.waiting.insert(parent->id);
}

// A composite op that nobody measured answers as the last op inside that answered the like.
std::vector<DtypeSet> Spread::results_of_children(const OpCall& call, const Work& work) const {
  std::vector<DtypeSet> results = dtypes_of(call.results);
  for (const OpCallId id : places_.children(call)) {
    const OpCall& child = *run_.call(id);
    const auto changed = work.calls.find(id);
    for (size_t i = 0; i < call.results.size(); ++i) {
      for (size_t k = 0; k < child.results.size(); ++k) {
        const bool is_like = child.results[k].dtypes == call.results[i].dtypes &&
                             child.results[k].shape == call.results[i].shape;
        if (!is_like) continue;
        const bool is_other = changed != work.calls.end() && k < changed->second.results.size();
        results[i] = is_other ? changed->second.results[k] : child.results[k].dtypes;
      }
    }
  }
  return results;
}

// A composite op and the ops inside it are one: where the contracts know the outer one it decides,
// else those inside do.
void Spread::settle(ChangedCalls& calls) const {
  std::vector<OpCallId> ids;
  for (const auto& [id, changed] : calls) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const OpCallId id : ids) {  // outer calls have the lower ids
    const auto around = calls.find(run_.call(id)->parent);
    if (around != calls.end() && around->second.fate == Fate::kFine) calls[id].fate = Fate::kFine;
  }
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    ChangedCall& changed = calls[*id];
    if (changed.fate != Fate::kUnknown) continue;
    bool any = false, all = true;
    for (const OpCallId child : places_.children(*run_.call(*id))) {
      const auto inside = calls.find(child);
      if (inside == calls.end()) continue;
      any = true;
      all = all && inside->second.fate == Fate::kFine;
    }
    if (any && all) changed.fate = Fate::kFine;
  }
}

OpCall Spread::with(const OpCall& call, const ChangedCall& changed, const CureSeeds& seeds) const {
  OpCall other = call;
  for (size_t i = 0; i < other.operands.size(); ++i) other.operands[i].dtypes = changed.operands[i];
  if (other.results.empty()) {
    for (const DtypeSet dtypes : changed.results) {
      Operand result{.dtypes = dtypes, .has_shape = false};
      result.device.type = call.device_type();
      other.results.push_back(std::move(result));
    }
  }
  for (size_t i = 0; i < std::min(other.results.size(), changed.results.size()); ++i)
    other.results[i].dtypes = changed.results[i];
  if (changed.in_autocast) other.autocast.enabled.push_back(seeds.region);
  return other;
}

const Spread::Answer& Spread::ask(const OpCall& call, const ChangedCall& changed,
                                  const CureSeeds& seeds) {
  uint64_t hash = mixed_in(hash_of(call), call.process);
  for (const DtypeSet dtypes : changed.operands) hash = mixed_in(hash, dtypes.bits());
  if (changed.in_autocast) hash = mixed_in(hash, static_cast<uint64_t>(seeds.region.dtype) + 1);
  if (call.outcome != Outcome::kReturned) hash = mixed_in(hash, call.id);  // what it said counts
  const auto [known, is_new] = answers_.try_emplace(hash);
  if (!is_new) return known->second;
  ChangedCall operands = changed;
  operands.results.clear();
  Answer answer = find_out(call, with(call, operands, seeds));
  if (answer.fate != Fate::kFine) answer.results = dtypes_of(call.results);
  return answers_[hash] = std::move(answer);
}

Spread::Answer Spread::find_out(const OpCall& call, const OpCall& asked) {
  // randn_like takes the dtype of its tensor, and makes no integers.
  const bool may_refuse = index_.has(call, ops::kFactory) && !call.operands.empty();
  if (auto answer = may_refuse ? measured(call, asked) : std::nullopt;
      answer && answer->fate == Fate::kRefused)
    return *answer;
  if (auto answer = by_nature(call, asked)) return *answer;
  if (auto answer = measured(call, asked)) return *answer;
  if (call.autocast.is_wrapper && !index_.has(call, ops::kAutocastWidest))
    return {Fate::kFine, dtypes_of(call.results)};  // it casts to what it cast to before
  const bool opens = asked.autocast.enabled.size() > call.autocast.enabled.size();
  if (opens && !places_.children(call).empty()) return {};  // what is inside tells
  if (auto answer = by_behaviour(call, asked)) return *answer;
  if (auto answer = by_message(call, asked)) return *answer;
  if (auto answer = seen_elsewhere(asked)) return *answer;
  return {};
}

// Casts, views and factories, and what is told the dtype to answer in.
std::optional<Spread::Answer> Spread::by_nature(const OpCall& call, const OpCall& asked) const {
  const std::vector<DtypeSet> recorded = dtypes_of(call.results);
  const bool names_dtype =
      std::any_of(call.scalars.begin(), call.scalars.end(),
                  [](const ScalarArgument& scalar) { return scalar.dtype.has_value(); });
  if (call.outcome == Outcome::kThrew || call.operands.empty()) return std::nullopt;
  if (names_dtype) return Answer{Fate::kFine, recorded};
  if (!index_.has(call, ops::kCast | ops::kPassesOn | ops::kFactory)) return std::nullopt;
  std::vector<DtypeSet> results = recorded;
  for (DtypeSet& result : results) {
    if (result == call.operands.front().dtypes) result = asked.operands.front().dtypes;
  }
  return Answer{Fate::kFine, results};
}

contracts::Answer Spread::ask_contracts(const OpCall& call) const {
  const std::string device = call.device_type();
  auto runtime = contracts_.find(device, run_.process_of(call).libtorch);
  if (!runtime && run_.process_of(call).libtorch.empty()) runtime = contracts_.newest(device);
  if (!runtime) return {};
  const AutocastState::Region* region = call.autocast.region_for(device);
  const auto mode = region == nullptr ? contracts::Mode::kCall : contracts::Mode::kAutocast;
  contracts::Answer answer = contracts_.ask(*runtime, call, mode);
  const bool is_lowered =
      region != nullptr && !answer.results.empty() && answer.results.front() == region->dtype;
  if (!is_lowered) return answer;
  // Autocast calls the op again with what it cast, and that call may want gradients.
  OpCall inner = call;
  inner.autocast = {};
  for (Operand& operand : inner.operands) {
    if (operand.dtypes.within(kAutocastable)) operand.dtypes = region->dtype;
  }
  const contracts::Answer again = contracts_.ask(*runtime, inner);
  return again.verdict == contracts::Verdict::kRejects ? again : answer;
}

// --keep-going or --fix let an op inside through, so that this one returned what it would not have.
bool Spread::is_repaired_inside(const OpCall& call) const {
  const std::vector<OpCallId> children = places_.children(call);
  return std::any_of(children.begin(), children.end(), [&](OpCallId id) {
    const OpCall& child = *run_.call(id);
    return was_let_through(child) || (child.id > call.id && is_repaired_inside(child));
  });
}

// Where the contracts are wrong about the call as it was recorded, it depends on more than dtypes.
std::optional<Spread::Answer> Spread::measured(const OpCall& call, const OpCall& asked) const {
  using contracts::Verdict;
  const contracts::Answer answer = ask_contracts(asked);
  if (answer.verdict == Verdict::kUnknown) return std::nullopt;
  const Verdict before = ask_contracts(call).verdict;
  const bool is_refused = was_refused(call) && !call.error.empty();
  const bool is_contradicted =
      (is_refused && before == Verdict::kAccepts) ||
      (!was_refused(call) && before == Verdict::kRejects && !is_repaired_inside(call));
  if (is_contradicted) return std::nullopt;
  if (answer.verdict == Verdict::kRejects) return Answer{Fate::kRefused, {}};
  std::vector<DtypeSet> results = dtypes_of(call.results);
  if (results.empty()) results.resize(answer.results.size());
  for (size_t i = 0; i < std::min(results.size(), answer.results.size()); ++i) {
    if (answer.results[i] != Dtype::kUndefined) results[i] = answer.results[i];
  }
  return Answer{Fate::kFine, results};
}

std::optional<Spread::Answer> Spread::by_behaviour(const OpCall& call, const OpCall& asked) const {
  if (call.outcome == Outcome::kThrew) return std::nullopt;
  const std::string op = ops::without_alias(call.op);
  const std::optional<Dtype> old = one_dtype(call), all = one_dtype(asked);
  std::optional<Dtype> result;
  if (index_.promotes(call)) {
    DtypeSet dtypes = asked.floating_dtypes();
    if (dtypes.empty() && all) dtypes = *all;
    result = promoted(dtypes);
  } else if (contracts_.passes_dtype_on(op) && all) {
    result = all;
  } else if (contracts_.behaviour(op).always && all) {
    return Answer{Fate::kFine, dtypes_of(call.results)};
  }
  if (!result) return std::nullopt;
  std::vector<DtypeSet> results = dtypes_of(call.results);
  if (!results.empty() && results.front().within(kFloating)) results.front() = *result;
  for (const Operand& operand : asked.operands) {
    const bool is_self = operand.is_written && !results.empty();
    if (is_self && !operand.dtypes.within(kFloating)) return Answer{Fate::kRefused, {}};
    if (is_self) results.front() = operand.dtypes;
  }
  for (size_t i = 1; i < results.size(); ++i) {
    if (old && results[i] == DtypeSet(*old) && all) results[i] = *all;
  }
  return Answer{Fate::kFine, results};
}

// What nobody measured is fine in the one dtype that this run has called it in.
std::optional<Spread::Answer> Spread::seen_elsewhere(const OpCall& asked) {
  const auto key = [](const OpCall& call, Dtype dtype) {
    return mixed_in(fnv1a_next(call.overload, fnv1a(call.op)), static_cast<uint64_t>(dtype));
  };
  if (seen_.empty()) {
    for (const OpCall& call : run_.calls) {
      const auto dtype = one_dtype(call);
      if (dtype && call.outcome == Outcome::kReturned && !call.autocast.is_wrapper)
        seen_.try_emplace(key(call, *dtype), dtypes_of(call.results));
    }
    seen_.try_emplace(0);
  }
  const auto dtype = one_dtype(asked);
  const auto found = dtype ? seen_.find(key(asked, *dtype)) : seen_.end();
  if (found == seen_.end()) return std::nullopt;
  std::vector<DtypeSet> results = dtypes_of(asked.results);
  for (size_t i = 0; i < std::min(results.size(), found->second.size()); ++i)
    results[i] = found->second[i];
  return Answer{Fate::kFine, results};
}

// A refusal of what nobody measured: what it said was wrong is there still, or is gone.
std::optional<Spread::Answer> Spread::by_message(const OpCall& call, const OpCall& asked) const {
  const OpCall* thrower = index_.thrower(call);
  if (call.outcome == Outcome::kReturned || thrower == nullptr) return std::nullopt;
  const auto decide = [&](bool is_gone) {
    return Answer{is_gone ? Fate::kFine : Fate::kRefused, dtypes_of(call.results)};
  };
  const std::string& error = thrower->error;
  if (const auto named = input_and_weight(error)) {
    const Operand* input = asked.operand("input");
    const auto weight = std::find_if(asked.operands.begin(), asked.operands.end(),
                                     [](const Operand& o) { return o.name.starts_with("weight"); });
    const DtypeSet wanted = weight == asked.operands.end() ? named->weight : weight->dtypes;
    return decide(input != nullptr && input->dtypes == wanted);
  }
  if (const auto wanted = wanted_integer(error)) {
    for (size_t i = 0; i < asked.operands.size(); ++i) {
      const bool was_it = call.operands[i].dtypes == DtypeSet(wanted->found);
      if (was_it && asked.operands[i].dtypes == DtypeSet(wanted->wanted)) return decide(true);
    }
    return decide(false);
  }
  const auto missing = missing_kernel(error);
  const bool is_half = error.find("unscale FP16") != std::string::npos;
  if (missing || is_half) {
    const DtypeSet refused = missing ? missing->dtype : Dtype::kHalf;
    return decide(asked.first_operand_in(refused) == nullptr);
  }
  const bool says_so = throw_reason(error, thrower->error_type) == ThrowReason::kDtypes;
  if (!says_so || !find_mix(index_, call, true)) return std::nullopt;
  return decide(!find_mix(index_, asked, true));
}

}  // namespace dtypecheck::rules
