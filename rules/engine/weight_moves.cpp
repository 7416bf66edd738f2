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

std::string counted(uint64_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string steps_text(uint64_t steps) { return counted(steps, "step"); }

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

std::string damage_text(const WeightMoves& moves, Dtype dtype) {
  const std::string steps = steps_text(moves.steps);
  const std::string name = dtype_name(dtype);
  if (moves.non_finite > 0) {
    return fmt::format("{} of the {} weights are NaN or infinite after {}",
                       percent(double(moves.non_finite) / double(moves.looked)), name, steps);
  }
  if (moves.elements == 0)
    return fmt::format("every gradient of the {} weights was 0 in {}", name, steps);
  if (moves.unmoved > 0)
    return fmt::format("{} of the {} weights did not move in {}", percent(moves.unmoved_share()),
                       name, steps);
  return moves.lost == 0 ? fmt::format("all of the {} weights moved in {}", name, steps)
                         : fmt::format("{} of the updates of {} weights rounded away in {}",
                                       percent(moves.lost_share()), name, steps);
}

std::string measured_text(const WeightMoves& moves) {
  const std::string whose =
      moves.optimizer.empty() ? "" : fmt::format(", stepped by {}", moves.optimizer);
  std::string text =
      fmt::format("measured on {} of {}{}, in {}: {} of {} changed nothing",
                  counted(moves.looked, "element"), counted(moves.tensors, "weight"), whose,
                  steps_text(moves.steps), moves.lost, counted(moves.updates, "update"));
  if (moves.elements > 0)
    text +=
        fmt::format(", {} of {} never moved", moves.unmoved, counted(moves.elements, "element"));
  if (moves.zero > 0)
    text +=
        fmt::format(", {} {} 0", counted(moves.zero, "gradient"), moves.zero == 1 ? "was" : "were");
  return text + fmt::format(", {} {} not finite", counted(moves.non_finite, "element"),
                            moves.non_finite == 1 ? "was" : "were");
}

}  // namespace dtypecheck::rules
