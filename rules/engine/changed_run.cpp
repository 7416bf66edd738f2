#include "rules/engine/changed_run.h"

#include <fmt/format.h>

#include "platform/hash.h"

namespace dtypecheck::rules {
namespace {

constexpr size_t kSmallRun = 2000;  // of these each call is a kind of its own

uint64_t mixed_in(uint64_t hash, uint64_t value) {
  return (hash ^ (value + 0x9e3779b97f4a7c15ULL + (hash << 6))) * 0x100000001b3ULL;
}

uint64_t hash_of_dtypes(const OpCall& call) {
  uint64_t hash = call.operands.size();
  for (const Operand& o : call.operands) {
    const uint64_t flags = uint64_t{o.is_leaf} << 5 | uint64_t{o.requires_grad} << 4 |
                           uint64_t{o.is_written} << 3 | uint64_t{o.is_wrapped_number} << 2 |
                           uint64_t{!o.parameter.empty()} << 1 | uint64_t{o.promotes()};
    hash = mixed_in(mixed_in(hash, o.dtypes.bits()), flags);
  }
  for (const Operand& result : call.results) hash = mixed_in(hash, result.dtypes.bits());
  for (const AutocastState::Region& region : call.autocast.enabled)
    hash = mixed_in(hash, static_cast<uint64_t>(region.dtype) + 100);
  return mixed_in(hash, static_cast<uint64_t>(call.outcome));
}

uint64_t kind_of(const OpCall& call) {
  const Site& site = call.site;
  uint64_t hash = fnv1a_next(call.overload, fnv1a(call.op));
  for (const std::string_view text :
       {std::string_view(site.line.file), std::string_view(site.inner.file),
        std::string_view(site.module_class)})
    hash = fnv1a_next(text, hash);
  for (const uint64_t number :
       {uint64_t{call.process}, static_cast<uint64_t>(site.line.line),
        static_cast<uint64_t>(site.inner.line), static_cast<uint64_t>(site.phase),
        uint64_t{call.parent != kNoOpCall}, hash_of_dtypes(call)})
    hash = mixed_in(hash, number);
  return hash;
}

uint64_t hash_of(const ChangedCall& call) {
  uint64_t hash = call.in_autocast ? 2 : 1;
  for (const auto* all : {&call.operands, &call.results}) {
    for (const DtypeSet dtypes : *all) hash = mixed_in(hash, dtypes.bits());
  }
  return hash;
}

}  // namespace

std::string key_of(const Finding& finding, const Run& run) {
  const OpCall* call = run.call(finding.call);
  return fmt::format("{}\n{}:{}\n{}\n{}", finding.rule, finding.site.line.file,
                     finding.site.line.line, finding.site.module_class,
                     call == nullptr ? "" : call->op);
}

ChangedRun::ChangedRun(const Run& run, const JudgeOptions& options) : run_(run), options_(options) {
  options_.target = nullptr;
  options_.checks_cures = false;
  options_.line_text = {};
  constexpr size_t kRefusal = 50;
  std::set<uint64_t> seen;
  for (const OpCall& call : run.calls) {
    kinds_.push_back(run.calls.size() <= kSmallRun ? call.id : kind_of(call));
    if (seen.insert(kinds_.back()).second)
      cost_ += call.outcome == Outcome::kReturned ? 1 : kRefusal;
  }
  cost_ += run.calls.size() / 8;
}

const std::map<std::string, Finding>& ChangedRun::before() {
  if (!before_) before_ = after({}, {}, {});
  return *before_;
}

std::map<std::string, Finding> ChangedRun::after(
    const ChangedCalls& changed, const std::set<OpCallId>& healed,
    const std::function<OpCall(const OpCall&)>& now) const {
  Run other;
  other.processes = run_.processes;
  other.values_checked = run_.values_checked;
  std::unordered_map<uint64_t, OpCallId> of_kind;
  std::vector<OpCallId> stands_for(run_.calls.size() + 1, kNoOpCall);
  std::vector<OpCallId> recorded;
  for (const OpCall& call : run_.calls) {
    const auto its = changed.find(call.id);
    const bool is_healed = healed.contains(call.id);
    uint64_t kind = mixed_in(kinds_[call.id - 1], is_healed ? 1 : 0);
    if (its != changed.end()) kind = mixed_in(kind, hash_of(its->second));
    const auto [entry, is_new] =
        of_kind.try_emplace(kind, static_cast<OpCallId>(other.calls.size() + 1));
    stands_for[call.id] = entry->second;
    if (!is_new) continue;
    recorded.push_back(call.id);
    other.calls.push_back(its == changed.end() ? call : now(call));
    other.calls.back().id = entry->second;
    if (!is_healed) continue;
    other.calls.back().outcome = Outcome::kReturned;
    other.calls.back().error.clear();
    other.calls.back().follows = kNoOpCall;
  }
  const auto move = [&](OpCallId& id) { id = id < stands_for.size() ? stands_for[id] : kNoOpCall; };
  for (OpCall& call : other.calls) {
    move(call.parent);
    move(call.follows);
    for (Operand& operand : call.operands) move(operand.origin);
    for (Operand& result : call.results) move(result.origin);
  }
  std::map<std::string, Finding> found;
  for (Finding& finding : judge(other, options_)) {
    // What a program caught is a note, and an error again where the refusal that ended it is gone.
    const bool is_refusal =
        finding.call != kNoOpCall && other.calls[finding.call - 1].outcome == Outcome::kThrew;
    if (finding.severity == Severity::kNote && !(is_refusal && changed.empty())) continue;
    const std::string key = key_of(finding, other);
    if (finding.call != kNoOpCall) finding.call = recorded[finding.call - 1];
    found.try_emplace(key, std::move(finding));
  }
  return found;
}

}  // namespace dtypecheck::rules
