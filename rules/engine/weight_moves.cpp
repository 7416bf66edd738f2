#include "rules/engine/weight_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

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

// Of so many found in so many, the least share that there is with a likelihood of 97.5 %.
static double least_share(uint64_t found, uint64_t all) {
  if (all == 0) return 0;
  constexpr double kZ = 1.96;
  const double n = double(all), p = double(found) / n;
  const double spread = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  return std::max(0.0, (p + kZ * kZ / (2 * n) - spread) / (1 + kZ * kZ / n));
}

bool WeightMoves::is_harmless() const {
  if (non_finite > 0 || updates == 0) return false;
  if (lost_share() < kHardlyAny) return true;
  constexpr uint64_t kEnough = 64;      // updates
  constexpr uint64_t kLittle = 50;      // of their sum
  constexpr double kSomeStand = 0.005;  // of the weights
  constexpr uint64_t kNearlyNothing = 10;
  constexpr double kMostMove = 0.2;  // those that stand were asked for next to nothing
  if (!knows_sum || updates < kEnough) return false;
  return (gone < kLittle && least_share(unmoved, elements) < kSomeStand) ||
         (gone < kNearlyNothing && unmoved_share() < kMostMove);
}

static void add_moves(const std::string& text, WeightMoves& moves) {
  uint64_t steps = 0, gone = 0, updates_before = moves.updates;
  bool has_sum = false;
  const std::pair<std::string_view, uint64_t*> fields[] = {{"steps", &steps},
                                                           {"tensors", &moves.tensors},
                                                           {"elements", &moves.elements},
                                                           {"unmoved", &moves.unmoved},
                                                           {"updates", &moves.updates},
                                                           {"lost", &moves.lost},
                                                           {"zero", &moves.zero},
                                                           {"looked", &moves.looked},
                                                           {"non_finite", &moves.non_finite},
                                                           {"gone", &gone}};
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view word = next_piece(rest, ' ');
    const std::string_view key = next_piece(word, '=');
    for (const auto& [name, sum] : fields) {
      uint64_t value = 0;
      if (key == name) std::from_chars(word.data(), word.data() + word.size(), value);
      *sum += value;
    }
    has_sum = has_sum || key == "gone";
  }
  // Of several ranks, as many parts as they have updates.
  const uint64_t own = moves.updates - updates_before;
  if (moves.updates > 0) moves.gone = (moves.gone * updates_before + gone * own) / moves.updates;
  moves.knows_sum = has_sum && (updates_before == 0 || moves.knows_sum);
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
    return fmt::format("every gradient of the {} weights that was looked at was 0 in {}", name,
                       steps);
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
  const std::string where =
      fmt::format("measured on {} of {}{}, in {}", counted(moves.looked, "element"),
                  counted(moves.tensors, "weight"), whose, steps_text(moves.steps));
  // A NaN stays what it is, whatever is added to it: that tells nothing of rounding.
  if (moves.non_finite > 0)
    return fmt::format("{}: {} of them {} NaN or infinite at the end", where, moves.non_finite,
                       moves.non_finite == 1 ? "was" : "were");
  std::string text = fmt::format("{}: {} of {} changed nothing", where, moves.lost,
                                 counted(moves.updates, "update"));
  if (moves.knows_sum && moves.lost > 0)
    text += fmt::format(", at most {:.1f} % of their sum", double(moves.gone) / 10);
  if (moves.elements > 0)
    text +=
        fmt::format(", {} of {} never moved", moves.unmoved, counted(moves.elements, "element"));
  if (moves.zero > 0)
    text +=
        fmt::format(", {} {} 0", counted(moves.zero, "gradient"), moves.zero == 1 ? "was" : "were");
  return text + ", all elements were finite";
}

}  // namespace dtypecheck::rules
