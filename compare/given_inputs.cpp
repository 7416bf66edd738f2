#include "compare/given_inputs.h"

#include <algorithm>

#include "compare/distance.h"
#include "core/dtype_set.h"

namespace dtypecheck::compare {

void GivenInputs::check(const DigestedCall& call, uint32_t ia, uint32_t ib, double apart) {
  const Digest& a = a_.digest(ia);
  const Digest& b = b_.digest(ib);
  if (!a_.is_begun_with(ia) || !b_.is_begun_with(ib) || call.site.phase == Phase::kOptimizer)
    return;
  Inputs& inputs = out_.inputs;
  const double rounded = 4 * std::max(unit_roundoff(a.dtype), unit_roundoff(b.dtype));
  if (call.step == out_.steps.front() && !a.parameter.empty()) {
    if (!seen_.insert(a.parameter).second) return;
    ++inputs.weights;
    if (apart <= rounded) return;
    if (apart <= 4 * lowest_) {
      ++inputs.weights_rounded;
      return;
    }
    if (inputs.weights_apart++ == 0) inputs.weight = a.parameter;
    inputs.weights_distance = std::max(inputs.weights_distance, apart);
    return;
  }
  if (!a.parameter.empty() || call.site.phase == Phase::kBackward) return;
  if (!given_.insert(ia).second) {
    for (GivenApart& given : given_apart_)
      given.is_table = given.is_table || (given.index == ia && call.step != given.call->step);
    return;
  }
  ++inputs.tensors;
  if (a.dtype != b.dtype && apart > kTiny && apart <= rounded) {
    Divergence place = Divergence::at(call, Cause::kRounding, apart, 0);
    place.dtype_a = dtype_name(a.dtype);
    place.dtype_b = dtype_name(b.dtype);
    place.is_kept_lower = true;
    out_.rounding.push_back(std::move(place));
  }
  const double computed =
      std::max(kTiny, kRoundingsOfTable * std::max(unit_roundoff(a.dtype), unit_roundoff(b.dtype)));
  if (apart <= (call.step == out_.steps.front() ? computed : std::max(computed, kOtherData)))
    return;
  given_apart_.push_back({&call, ia, false});
}

void GivenInputs::note_apart(const std::unordered_map<uint32_t, bool>& to_no_effect) {
  const std::vector<Divergence>& places = out_.places;
  Inputs& inputs = out_.inputs;
  for (const GivenApart& given : given_apart_) {
    // What a program keeps from step to step, a hidden state say, is apart for what was before.
    const bool is_of_before = std::ranges::any_of(
        places, [&](const Divergence& place) { return place.step < given.call->step; });
    const auto used = to_no_effect.find(given.index);
    const bool has_effect = used == to_no_effect.end() || !used->second;
    if (!has_effect || is_of_before || inputs.tensors_apart++ > 0) continue;
    inputs.where = given.call->op;
    inputs.site = given.call->site;
    inputs.step = given.call->step;
    inputs.is_table = given.is_table;
  }
}

}  // namespace dtypecheck::compare
