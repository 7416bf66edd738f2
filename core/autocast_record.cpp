#include "core/autocast_record.h"

#include <fmt/format.h>

#include <set>
#include <tuple>

#include "core/enum_names.h"
#include "core/follow_links.h"
#include "ops/ops.h"

namespace dtypecheck {
namespace {

constexpr DtypeSet kCastable = kLowPrecision | Dtype::kFloat;  // autocast leaves Double alone

bool takes_part(const Operand& operand) {
  return operand.kind != TensorKind::kUndefined && operand.dtypes.within(kCastable) &&
         operand.role != Role::kOut;
}

DtypeSet castable_dtypes(const OpCall& call) {
  DtypeSet dtypes;
  for (const Operand& operand : call.operands) {
    if (takes_part(operand)) dtypes |= operand.dtypes;
  }
  return dtypes;
}

bool is_cast(const OpCall& call) {
  return (ops::facts_of(call.op) & ops::kCast) != 0 && call.operands.size() == 1;
}

class Recorder {
 public:
  explicit Recorder(const Run& run) : run_(run), children_(run.calls.size() + 1) {
    for (const OpCall& call : run.calls) {
      if (run.call(call.parent)) children_[call.parent].push_back(call.id);
      if (!call.autocast.is_wrapper) continue;
      if (decide(call) == AutocastDecision::kLowerPrecision)
        lowered_.insert({call.process, call.device_type(), call.op});
    }
  }

  std::vector<AutocastRecord> records() {
    std::vector<AutocastRecord> all;
    for (const OpCall& call : run_.calls) {
      if (call.site.phase == Phase::kBackward || call.site.phase == Phase::kOptimizer) continue;
      if (auto record = call.autocast.is_wrapper ? handled(call) : untouched(call))
        all.push_back(std::move(*record));
    }
    return all;
  }

 private:
  // The call that autocast made with what it had cast. A wrapper op (matmul) is not seen again
  // itself, but what it calls is.
  const OpCall* inner_of(const OpCall& call) const {
    const OpCall* other = nullptr;
    for (const OpCallId id : children_[call.id]) {
      const OpCall* child = run_.call(id);
      if (child->autocast.is_inner && child->op == call.op) return child;
      if (!other && !is_cast(*child) && !castable_dtypes(*child).empty()) other = child;
    }
    return other;
  }

  AutocastDecision decide(const OpCall& call) const {
    const AutocastState::Region* region = call.autocast.region_for(call.device_type());
    const OpCall* inner = inner_of(call);
    DtypeSet ran = inner ? castable_dtypes(*inner) : DtypeSet();
    if (ran.empty() && call.result_dtype()) ran = DtypeSet(*call.result_dtype());
    if (ops::facts_of(call.op) & ops::kAutocastWidest) return AutocastDecision::kPromote;
    if (region && ran == DtypeSet(region->dtype)) return AutocastDecision::kLowerPrecision;
    return ran == DtypeSet(Dtype::kFloat) ? AutocastDecision::kFloat : AutocastDecision::kPromote;
  }

  AutocastRecord begin(const OpCall& call, const std::string& device) const {
    AutocastRecord record;
    record.call = call.id;
    record.device = device;
    record.entered = call.autocast.entered;
    if (const AutocastState::Region* region = call.autocast.region_for(device))
      record.region_dtype = region->dtype;
    return record;
  }

  std::optional<AutocastRecord> handled(const OpCall& call) const {
    if (castable_dtypes(call).empty()) return std::nullopt;
    AutocastRecord record = begin(call, call.device_type());
    record.decision = decide(call);
    uint64_t casts = 0;
    for (const OpCallId id : children_[call.id]) {
      const OpCall& child = *run_.call(id);
      if (!is_cast(child)) continue;
      casts += child.count;
    }
    const OpCall* inner = inner_of(call);
    if (!inner) return record;
    record.casts = casts;
    if (inner->op != call.op) return record;
    uint64_t needed = 0;
    for (const Operand& operand : call.operands) {
      const Operand* after = inner->operand(operand.name);
      if (after && takes_part(operand) && after->dtypes != operand.dtypes) needed += call.count;
    }
    record.cache_hits = needed > casts ? needed - casts : 0;
    return record;
  }

  bool is_inside_handled(const OpCall& call) const {
    bool is_inside = false;
    follow_links(&call, [&](const OpCall& up) {
      is_inside = up.autocast.is_inner || (&up != &call && up.autocast.is_wrapper);
      return is_inside ? nullptr : run_.call(up.parent);
    });
    return is_inside;
  }

  std::optional<AutocastRecord> untouched(const OpCall& call) const {
    const DtypeSet dtypes = castable_dtypes(call);
    if (dtypes.empty() || is_cast(call) || is_inside_handled(call)) return std::nullopt;
    const std::string device = call.device_type();
    AutocastRecord record = begin(call, device);
    if (record.region_dtype) {
      record.why =
          call.op.starts_with("aten::")
              ? fmt::format("autocast for {} has no rule for {}", device, call.op)
              : fmt::format("{} is no op of LibTorch, so autocast has no rule for it", call.op);
      return record;
    }
    // Only ops that autocast does handle elsewhere in this run are missed outside of its regions.
    if (!lowered_.contains({call.process, device, call.op})) return std::nullopt;
    if (!call.autocast.enabled.empty()) {
      record.why = fmt::format("the region is for {}, the operands are on {}",
                               call.autocast.enabled.front().device, device);
    } else if (call.autocast.entered.known()) {
      record.why = "the innermost region switches autocast off";
    } else {
      record.why = "no region was open in this thread";
    }
    return record;
  }

  const Run& run_;
  std::vector<std::vector<OpCallId>> children_;
  std::set<std::tuple<uint32_t, std::string, std::string>> lowered_;  // process, device, op
};

}  // namespace

const char* decision_name(AutocastDecision decision) {
  return name_of<AutocastDecision::kUntouched>(
      decision, {"lower precision", "float32", "promote", "untouched"});
}

std::vector<AutocastRecord> autocast_records(const Run& run) { return Recorder(run).records(); }

}  // namespace dtypecheck
