#include "compare/named.h"

#include <algorithm>
#include <set>

#include "compare/distance.h"
#include "compare/ranks.h"
#include "ops/ops.h"

namespace dtypecheck::compare {
namespace {

// They stand before the op that was about to apply them.
void add_gradients(const DigestedProcess& process, Names& names) {
  uint32_t index = 1;
  for (const DigestedCall& call : process.calls) {
    uint32_t last = 0;
    for (const auto* list : {&call.operands, &call.results})
      for (const uint32_t of : *list) last = std::max(last, of);
    for (; index <= last; ++index) {
      const Digest& digest = process.digests[index - 1];
      if (digest.is_gradient)
        names.try_emplace({call.step, NumberKind::kGradient, digest.parameter}, index);
    }
  }
}

// Operands are lists behind one another, each with as many tensors as there are parameters: those
// of a fused or foreach op, or one of each.
void add_states(const DigestedProcess& process, Names& names) {
  const auto digest_of = [&](uint32_t index) {
    return index == 0 ? nullptr : &process.digests[index - 1];
  };
  for (const DigestedCall& call : process.calls) {
    if (call.site.phase != Phase::kOptimizer) continue;
    std::vector<const Digest*> gradients;  // the first list of them
    std::set<std::string> seen;
    for (const uint32_t index : call.operands) {
      const Digest* digest = digest_of(index);
      if (digest && digest->is_gradient && seen.insert(digest->parameter).second)
        gradients.push_back(digest);
    }
    const size_t count = gradients.size();
    if (count == 0 || call.operands.size() % count != 0) continue;
    const std::string op(ops::parse_op_name(call.op).base);
    for (size_t list = 0, number = 0; list < call.operands.size(); list += count) {
      bool is_state = true;
      for (size_t i = 0; i < count && is_state; ++i) {
        const Digest* digest = digest_of(call.operands[list + i]);
        is_state = digest && digest->parameter.empty() && digest->shape == gradients[i]->shape &&
                   is_floating(digest->dtype);
      }
      if (!is_state) continue;
      ++number;
      const std::string by = number == 1 ? op : op + " " + std::to_string(number);
      for (size_t i = 0; i < count; ++i)
        names[{call.step, NumberKind::kState, gradients[i]->parameter + " by " + by}] =
            call.operands[list + i];
    }
  }
}

// Those that both begin with, with the very same numbers.
std::map<std::string, bool> equal_at_first(const DigestedProcess& a, const DigestedProcess& b) {
  std::map<std::string, bool> equal;
  const auto in_b = first_weights(b);
  for (const auto& [name, index] : first_weights(a)) {
    const auto found = in_b.find(name);
    if (found == in_b.end()) continue;
    equal[name] = distance(a.digests[index - 1], b.digests[found->second - 1]) == 0.0;
  }
  return equal;
}

void add_first_drift(const DigestedProcess& a, const DigestedProcess& b, std::vector<Drift>& out) {
  const std::map<std::string, bool> equal = equal_at_first(a, b);
  const auto count = std::ranges::count_if(equal, [](const auto& e) { return e.second; });
  if (static_cast<size_t>(count) * 10 < equal.size() * 9 || equal.empty()) return;
  Drift drift{.rank = b.rank};
  const Names in_b = names_in(b);
  for (const auto& [key, index] : names_in(a)) {
    const auto& [step, kind, name] = key;
    if (drift.step != 0 && step > drift.step) break;
    const auto found = in_b.find(key);
    const auto first = equal.find(name);
    if (kind != NumberKind::kWeight || found == in_b.end() || first == equal.end() ||
        !first->second)
      continue;
    const Digest &of_a = a.digests[index - 1], &of_b = b.digests[found->second - 1];
    if (of_a.cut != of_b.cut) continue;  // another shard
    const auto apart = distance(of_a, of_b);
    if (!apart || *apart == 0) continue;
    drift.step = step;
    ++drift.weights;
    if (*apart >= drift.distance) drift.distance = *apart, drift.parameter = name;
  }
  if (drift.step != 0) out.push_back(std::move(drift));
}

}  // namespace

Names names_in(const DigestedProcess& process) {
  Names names;
  for (const DigestedCall& call : process.calls) {
    if (call.site.phase != Phase::kOptimizer) continue;
    for (const auto* list : {&call.operands, &call.results}) {
      for (const uint32_t index : *list) {
        if (index == 0) continue;
        const Digest& digest = process.digests[index - 1];
        if (!digest.parameter.empty() && !digest.is_gradient)
          names[{call.step, NumberKind::kWeight, digest.parameter}] = index;
      }
    }
  }
  add_gradients(process, names);
  add_states(process, names);
  return names;
}

std::map<std::string, uint32_t> first_weights(const DigestedProcess& process) {
  std::map<std::string, uint32_t> first;
  for (uint32_t index = 1; index <= process.digests.size(); ++index) {
    const Digest& digest = process.digests[index - 1];
    if (!digest.parameter.empty() && !digest.is_gradient)
      first.try_emplace(digest.parameter, index);
  }
  return first;
}

std::vector<Drift> drifts_among_ranks(const std::vector<DigestedProcess>& processes) {
  const auto ranks = ranks_of(processes);
  std::vector<Drift> drifts;
  for (const auto& [rank, process] : ranks)
    if (process != ranks.begin()->second) add_first_drift(*ranks.begin()->second, *process, drifts);
  return drifts;
}

}  // namespace dtypecheck::compare
