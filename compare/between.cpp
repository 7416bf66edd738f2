#include "compare/between.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compare/distance.h"
#include "core/dtype_set.h"
#include "ops/ops.h"

namespace dtypecheck::compare {

static constexpr size_t kMostBetween = 16;  // ops walked through between two that are aligned

static Between between(const Side& side, const std::vector<size_t>& to, size_t maker) {
  Between found;
  std::vector<size_t> waiting{maker};
  std::set<size_t> seen;
  while (!waiting.empty() && seen.size() < kMostBetween) {
    const size_t call = waiting.back();
    waiting.pop_back();
    if (call == kAlone || !seen.insert(call).second) continue;
    if (to[call] != kAlone) {
      found.aligned.push_back(call);
      continue;
    }
    found.alone.push_back(call);
    const DigestedCall& made = side.process.calls[call];
    found.has_sum = found.has_sum || ops::parse_op_name(made.op).base == "add";
    for (const auto* list : {&made.operands, &made.results})
      for (uint32_t index : *list)
        if (index != 0)
          found.roundoff = std::max(found.roundoff, unit_roundoff(side.digest(index).dtype));
    for (uint32_t index : made.operands)
      if (index != 0) waiting.push_back(side.maker(index, made.step));
  }
  return found;
}

// Else these are not the same tensor, but of two calls of one op with equal shapes.
bool OpsBetween::meet(const Between& in_a, const Between& in_b) const {
  if (in_a.aligned.empty() || in_b.aligned.empty()) return true;
  return std::ranges::any_of(in_a.aligned, [&](size_t at) {
    return std::find(in_b.aligned.begin(), in_b.aligned.end(), alignment_.to_b[at]) !=
           in_b.aligned.end();
  });
}

static std::vector<std::string> names_of_ops(const Side& side, std::vector<size_t> calls) {
  std::ranges::sort(calls);
  std::vector<std::string> names;
  for (const size_t call : calls) {
    const DigestedCall& made = side.process.calls[call];
    std::string name = made.op;
    if (ops::facts_of(made.op) & ops::kCast && !made.results.empty() && made.results[0] != 0)
      name += " to " + dtype_name(side.digest(made.results[0]).dtype);
    const std::string where = recorded_place(made.site);
    if (!where.empty()) name += " at " + where;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

std::optional<Divergence> OpsBetween::find(size_t i, size_t j, uint32_t ia, uint32_t ib,
                                           double apart) const {
  const DigestedCall& call = a_.process.calls[i];
  const Digest& a = a_.digest(ia);
  const Digest& b = b_.digest(ib);
  if (!is_floating(a.dtype) || !is_floating(b.dtype)) return std::nullopt;
  const size_t made_a = a_.maker(ia, call.step);
  const size_t made_b = b_.maker(ib, b_.process.calls[j].step);
  if (made_a == kAlone && made_b == kAlone) return std::nullopt;
  const bool is_weight = !(made_a == kAlone ? a : b).parameter.empty();
  if ((made_a == kAlone || made_b == kAlone) && !is_weight)
    return find_unseen(call, made_a == kAlone ? b_ : a_, std::min(made_a, made_b), a, b, apart);
  if (made_a != kAlone && alignment_.to_b[made_a] == made_b) return std::nullopt;
  const Between in_a = between(a_, alignment_.to_b, made_a);
  const Between in_b = between(b_, alignment_.to_a, made_b);
  if (in_a.alone.empty() && in_b.alone.empty()) return std::nullopt;
  // Branches of the backward pass run in another order, and the gradient of what several ops use
  // is summed as they come.
  if (call.site.phase == Phase::kBackward && (!meet(in_a, in_b) || in_a.has_sum != in_b.has_sum))
    return std::nullopt;
  double worst = 0;
  for (const size_t at : in_a.aligned) worst = std::max(worst, result_distances_[at]);
  for (const size_t at : in_b.aligned)
    worst = std::max(worst, result_distances_[alignment_.to_a[at]]);
  const double of_a = std::max(in_a.roundoff, unit_roundoff(a.dtype));
  const double of_b = std::max(in_b.roundoff, unit_roundoff(b.dtype));
  const bool adds = apart > 4 * (worst + 4 * std::max(of_a, of_b));
  if (!adds && (apart <= 4 * worst || of_a == of_b)) return std::nullopt;
  Divergence place = Divergence::at(call, adds ? Cause::kBetween : Cause::kRounding, apart, worst);
  place.dtype_a = dtype_name(a.dtype);
  place.dtype_b = dtype_name(b.dtype);
  place.only_a = names_of_ops(a_, in_a.alone);
  place.only_b = names_of_ops(b_, in_b.alone);
  return place;
}

// The other run shows nothing that made it: torch.compile did, or it was given. The rounding of
// what stands there is taken to be that of as many ops.
std::optional<Divergence> OpsBetween::find_unseen(const DigestedCall& call, const Side& side,
                                                  size_t maker, const Digest& a, const Digest& b,
                                                  double apart) const {
  const auto& to = &side == &a_ ? alignment_.to_b : alignment_.to_a;
  const Between seen = between(side, to, maker);
  if (call.site.phase != Phase::kForward || seen.alone.empty() || seen.aligned.empty() ||
      seen.alone.size() + seen.aligned.size() >= kMostBetween)
    return std::nullopt;
  double worst = 0;
  for (const size_t at : seen.aligned)
    worst = std::max(worst, result_distances_[&side == &a_ ? at : to[at]]);
  const double roundoff = std::max({seen.roundoff, unit_roundoff(a.dtype), unit_roundoff(b.dtype)});
  const double roundings = 4 * std::sqrt(static_cast<double>(seen.alone.size()));
  if (apart <= 4 * (worst + roundings * roundoff)) return std::nullopt;
  Divergence place = Divergence::at(call, Cause::kBetween, apart, worst);
  place.dtype_a = dtype_name(a.dtype);
  place.dtype_b = dtype_name(b.dtype);
  auto& only = &side == &a_ ? place.only_a : place.only_b;
  only = names_of_ops(side, seen.alone);
  (&side == &a_ ? place.only_b : place.only_a) = {"what was not recorded, as in a compiled region"};
  return place;
}

}  // namespace dtypecheck::compare
