#include "compare/gradients.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "compare/distance.h"
#include "ops/ops.h"

namespace dtypecheck::compare {
namespace {

// A gradient that is next to nothing beside the others, as that of a key's bias is, is rounding.
constexpr double kNothing = 1e-3;

using Gradients = std::map<std::string, uint32_t>;  // of a step, by parameter

Gradients gradients_in(const Names& names, uint32_t step) {
  Gradients gradients;
  for (auto at = names.lower_bound({step, NumberKind::kGradient, ""}); at != names.end(); ++at) {
    if (std::get<0>(at->first) != step || std::get<1>(at->first) != NumberKind::kGradient) break;
    gradients.emplace(std::get<2>(at->first), at->second);
  }
  return gradients;
}

// Else one keeps them under other names, or ended before its optimizer.
bool have_common(const Gradients& a, const Gradients& b) {
  return std::ranges::any_of(a, [&](const auto& own) { return b.contains(own.first); });
}

double largest(const Side& side, const Gradients& gradients) {
  double most = 0;
  for (const auto& [name, index] : gradients)
    most = std::max(most, side.digest(index).root_mean_square);
  return most;
}

// Of parameters that both have: the gradients that the other has none of. What is zero may be room
// that was never written.
Gradients only_in(const Side& side, const Gradients& own, const Side& other,
                  const Gradients& others) {
  Gradients only;
  for (const auto& [name, index] : own)
    if (!others.contains(name) && other.weights.contains(name) && side.digest(index).largest > 0)
      only.emplace(name, index);
  return only;
}

Gradients far_apart(const Side& a, const Gradients& of_a, const Side& b, const Gradients& of_b,
                    double far) {
  const double nothing = kNothing * std::max(largest(a, of_a), largest(b, of_b));
  Gradients apart;
  for (const auto& [name, index] : of_a) {
    const auto found = of_b.find(name);
    if (found == of_b.end()) continue;
    const Digest &in_a = a.digest(index), &in_b = b.digest(found->second);
    const double between = distance(in_a, in_b).value_or(0);
    const double size = std::max(in_a.root_mean_square, in_b.root_mean_square);
    if (between > far && between * size > nothing) apart.emplace(name, index);
  }
  return apart;
}

// What the gradients were computed from in the backward pass of the step; the first op call of it
// that is not aligned. A cast is alone where a run computes in another dtype.
size_t first_alone(const Side& side, const std::vector<size_t>& to, const Gradients& gradients,
                   uint32_t step) {
  std::vector<size_t> waiting;
  for (const auto& [name, index] : gradients) waiting.push_back(side.maker(index, step));
  std::set<size_t> seen;
  while (!waiting.empty()) {
    const size_t call = waiting.back();
    waiting.pop_back();
    if (call == kAlone || side.process.calls[call].site.phase != Phase::kBackward ||
        !seen.insert(call).second)
      continue;
    for (const uint32_t index : side.process.calls[call].operands)
      if (index != 0) waiting.push_back(side.maker(index, step));
  }
  const auto alone = std::ranges::find_if(seen, [&](size_t call) {
    return to[call] == kAlone && (ops::facts_of(side.process.calls[call].op) & ops::kCast) == 0;
  });
  return alone == seen.end() ? kAlone : *alone;
}

bool is_apart_before(const Comparison& comparison, uint32_t step) {
  const auto is_before = [&](const Divergence& place) {
    return std::tuple(place.step, place.site.phase) <= std::tuple(step, Phase::kBackward);
  };
  return std::ranges::any_of(comparison.places, is_before);
}

// Of what one run alone computed on the way to these gradients.
std::optional<Divergence> ran_alone(const Side& side, const std::vector<size_t>& to,
                                    const Gradients& gradients, uint32_t step, bool is_of_a) {
  const size_t call = gradients.empty() ? kAlone : first_alone(side, to, gradients, step);
  if (call == kAlone) return std::nullopt;
  const DigestedCall& made = side.process.calls[call];
  Divergence place =
      Divergence::at(made, Cause::kGradient, std::numeric_limits<double>::infinity(), 0);
  place.parameter = gradients.begin()->first;
  place.parameters = gradients.size();
  (is_of_a ? place.only_a : place.only_b) = {made.op};
  return place;
}

}  // namespace

std::optional<Divergence> gradient_apart(const Side& a, const Side& b, const Alignment& alignment,
                                         const std::pair<Names, Names>& names, double far,
                                         const Comparison& comparison) {
  for (const uint32_t step : comparison.steps) {
    const Gradients of_a = gradients_in(names.first, step), of_b = gradients_in(names.second, step);
    if (!have_common(of_a, of_b)) continue;
    if (is_apart_before(comparison, step)) return std::nullopt;
    const Gradients apart = far_apart(a, of_a, b, of_b, far);
    const Gradients only_a = only_in(a, of_a, b, of_b), only_b = only_in(b, of_b, a, of_a);
    if (auto place = ran_alone(a, alignment.to_b, only_a, step, true)) return place;
    if (auto place = ran_alone(b, alignment.to_a, only_b, step, false)) return place;
    Gradients apart_b = apart;
    for (auto& [name, index] : apart_b) index = of_b.at(name);
    auto place = ran_alone(a, alignment.to_b, apart, step, true);
    if (!place) place = ran_alone(b, alignment.to_a, apart_b, step, false);
    if (place) {
      place->distance = 0;
      for (const auto& [name, index] : apart)
        place->distance = std::max(
            place->distance, distance(a.digest(index), b.digest(apart_b.at(name))).value_or(0));
      return place;
    }
    if (apart.size() + only_a.size() + only_b.size() > 0) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace dtypecheck::compare
