#include "rules/engine/weight_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "platform/text.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {
namespace {

constexpr double kHardlyAny = 0.02;

std::string percent(double share) {
  const double all = share * 100;
  if (all > 99 && all < 100) return "over 99 %";
  return all > 0 && all < 1 ? "under 1 %" : fmt::format("{:.0f} %", all);
}

std::string steps_text(uint64_t steps) {
  return steps == 1 ? "1 step" : fmt::format("{} steps", steps);
}

}  // namespace

bool WeightMoves::is_harmless() const {
  return non_finite == 0 && updates > 0 && lost_share() < kHardlyAny;
}

static void add_moves(const std::string& text, WeightMoves& moves) {
  uint64_t steps = 0;
  const std::pair<std::string_view, uint64_t*> fields[] = {
      {"steps", &steps},           {"tensors", &moves.tensors}, {"elements", &moves.elements},
      {"unmoved", &moves.unmoved}, {"updates", &moves.updates}, {"lost", &moves.lost},
      {"zero", &moves.zero},       {"looked", &moves.looked},   {"non_finite", &moves.non_finite}};
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view word = next_piece(rest, ' ');
    const std::string_view key = next_piece(word, '=');
    for (const auto& [name, sum] : fields) {
      uint64_t value = 0;
      if (key == name) std::from_chars(word.data(), word.data() + word.size(), value);
      *sum += value;
    }
  }
  moves.steps = std::max(moves.steps, steps);
}

std::optional<WeightMoves> weight_moves(const Run& run, Dtype dtype) {
  WeightMoves moves;
  for (const Process& process : run.processes) {
    const std::string& text = process.fact(FactKey::kWeights, dtype_name(dtype));
    if (text.empty()) continue;
    add_moves(text, moves);
    if (moves.optimizer.empty()) moves.optimizer = process.fact(FactKey::kOptimizer);
  }
  return moves.steps == 0 || moves.looked == 0 ? std::nullopt : std::optional(moves);
}

std::string damage_text(const WeightMoves& moves) {
  const std::string steps = steps_text(moves.steps);
  if (moves.non_finite > 0) {
    return fmt::format("{} of the weights are NaN or infinite after {}",
                       percent(double(moves.non_finite) / double(moves.looked)), steps);
  }
  if (moves.elements == 0) return fmt::format("every gradient was 0 in {}", steps);
  if (moves.unmoved > 0)
    return fmt::format("{} of the weights did not move in {}", percent(moves.unmoved_share()),
                       steps);
  return moves.lost == 0 ? fmt::format("all of the weights moved in {}", steps)
                         : fmt::format("{} of the updates rounded away in {}",
                                       percent(moves.lost_share()), steps);
}

std::string measured_text(const WeightMoves& moves) {
  const std::string whose =
      moves.optimizer.empty() ? "" : fmt::format(", stepped by {}", moves.optimizer);
  std::string text = fmt::format(
      "measured on {} elements of {} weights{}, in {}: {} of {} updates changed nothing",
      moves.looked, moves.tensors, whose, steps_text(moves.steps), moves.lost, moves.updates);
  if (moves.elements > 0)
    text += fmt::format(", {} of {} elements never moved", moves.unmoved, moves.elements);
  if (moves.zero > 0)
    text += fmt::format(", {} gradient{} 0", moves.zero, moves.zero == 1 ? " was" : "s were");
  return text + fmt::format(", {} elements were not finite", moves.non_finite);
}

}  // namespace dtypecheck::rules
