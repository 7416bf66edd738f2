#include "compare/expected.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "compare/distance.h"
#include "ops/ops.h"

namespace dtypecheck::compare {
namespace {

// What sizes and sixteen places leave open: a distance is a sample, and errors may all point one
// way.
constexpr double kSlack = 4;
constexpr double kAccumulator = 0x1p-24;      // sums of 16 bits are made in Float
constexpr double kRoundingOfFunction = 4;     // of exp(), say, computed in Float
constexpr double kExponentNotSeen = 3;        // of pow(): a square, or what rsqrt's backward has
constexpr double kConditionOfAttention = 16;  // its logits are not seen

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 14> kRandom = {
    "bernoulli", "cauchy",     "dropout",     "exponential",    "feature_dropout",
    "geometric", "log_normal", "multinomial", "native_dropout", "normal",
    "poisson",   "rand",       "random",      "uniform"};
constexpr std::array<std::string_view, 5> kRandomToo = {"rand_like", "randint", "randint_like",
                                                        "randn", "randn_like"};
constexpr std::array<std::string_view, 8> kSteps = {"ceil",      "floor", "frac", "fmod",
                                                    "remainder", "round", "sign", "trunc"};
constexpr std::array<std::string_view, 8> kExponentials = {
    "exp", "exp2", "expm1", "softmax", "_softmax", "logsumexp", "sinh", "cosh"};
constexpr std::array<std::string_view, 5> kLogarithms = {"log", "log_softmax", "_log_softmax",
                                                         "log2", "log10"};
constexpr std::array<std::string_view, 5> kProducts = {"mul", "square", "pow", "sqrt", "abs"};

bool is_matrix_product(uint64_t facts) { return facts & (ops::kMultiplies | ops::kProduct); }

bool divides(std::string_view base) {
  return base.find("div") != base.npos || base == "reciprocal" || base == "rsqrt" ||
         base.find("adam") != base.npos;
}

double size(const OperandPair& pair) {
  return std::max(pair.a->root_mean_square, pair.b->root_mean_square);
}
double largest(const OperandPair& pair) { return std::max(pair.a->largest, pair.b->largest); }

// How many terms each element of the result is a sum of.
double terms(uint64_t facts, const std::vector<OperandPair>& operands, const Digest& result) {
  std::vector<double> counts;
  for (const OperandPair& pair : operands) counts.push_back(static_cast<double>(pair.a->count));
  std::sort(counts.rbegin(), counts.rend());
  const double out = std::max<double>(static_cast<double>(result.count), 1);
  if (counts.empty()) return 1;
  if (is_matrix_product(facts) && counts.size() > 1)
    return std::max({1.0, std::sqrt(counts[0] * counts[1] / out), counts[0] / out});
  // A norm's or a softmax' sums are not longer than the tensor.
  if (counts[0] > out) return counts[0] / out;
  return facts & (ops::kNorm | ops::kBackward) ? std::sqrt(counts[0]) : 1;
}

double deviation(const Digest& digest) {
  return std::sqrt(
      std::max(0.0, digest.root_mean_square * digest.root_mean_square - digest.mean * digest.mean));
}

double ratio(double of, double to) { return to > 0 ? std::max(1.0, of / to) : 1; }

double condition(std::string_view base, uint64_t facts, const std::vector<OperandPair>& operands,
                 double out, double count) {
  double most = 0, biggest = 0;
  for (const OperandPair& pair : operands) {
    if (!is_floating(pair.a->dtype)) continue;
    most = std::max(most, size(pair));
    biggest = std::max(biggest, largest(pair));
  }
  if (base.find("scaled_dot_product") != base.npos) return kConditionOfAttention;
  if (is_matrix_product(facts) && operands.size() > 1)
    return std::max(ratio(std::sqrt(count) * size(operands[0]) * size(operands[1]), out),
                    operands.size() > 2 ? ratio(most, out) : 1.0);
  if (facts & ops::kNorm && !operands.empty())
    return 2 * ratio(size(operands[0]), deviation(*operands[0].a));
  if (is_one_of(base, kExponentials)) return 1 + biggest;
  if (base == "pow")
    return operands.size() > 1 ? std::max(1.0, largest(operands[1])) : kExponentNotSeen;
  if (is_one_of(base, kLogarithms) || facts & ops::kLoss) return ratio(2 * (1 + biggest), out);
  // What is added is a product, of which no factor's size says how much of it cancels.
  if ((base == "addcmul" || base == "addcdiv") && !operands.empty())
    return ratio(2 * size(operands[0]), out);
  if (base == "sum") return ratio(std::sqrt(count) * most, out);
  if (is_one_of(base, kProducts)) return 1;
  return ratio(2 * most, out);
}

// Element by element: a division makes much of an error that is small beside the largest elements.
double worst_at_places(const std::vector<OperandPair>& operands) {
  double worst = 0;
  for (const OperandPair& pair : operands) {
    for (size_t i = 0; i < std::min(pair.a->places.size(), pair.b->places.size()); ++i) {
      const double a = pair.a->places[i], b = pair.b->places[i];
      if (a != b) worst = std::max(worst, std::fabs(a - b) / std::max(std::fabs(a), std::fabs(b)));
    }
  }
  return worst;
}

}  // namespace

bool is_random(const std::string& op) {
  const std::string_view base = ops::parse_op_name(op).base;
  return is_one_of(base, kRandom) || is_one_of(base, kRandomToo) || base == "randperm";
}

double share_in_result(const std::string& op, size_t place, const Digest& operand,
                       const Digest& result) {
  const bool is_added = place == 2 && is_matrix_product(ops::facts_of(op));
  if (!is_added || result.root_mean_square == 0) return 1;
  return std::min(1.0, operand.root_mean_square / result.root_mean_square);
}

std::optional<double> expected_distance(const std::string& op, Phase phase,
                                        const std::vector<OperandPair>& operands, const Digest& a,
                                        const Digest& b) {
  const std::string_view base = ops::parse_op_name(op).base;
  const uint64_t facts = ops::facts_of(op);
  double given = 0;
  bool alike = a.dtype == b.dtype;
  double roundoff = std::max(unit_roundoff(a.dtype), unit_roundoff(b.dtype));
  for (size_t i = 0; i < operands.size(); ++i) {
    const OperandPair& pair = operands[i];
    const double share =
        std::max(share_in_result(op, i, *pair.a, a), share_in_result(op, i, *pair.b, b));
    given = std::max(given, share * pair.distance);
    alike = alike && pair.a->dtype == pair.b->dtype;
    roundoff = std::max({roundoff, unit_roundoff(pair.a->dtype), unit_roundoff(pair.b->dtype)});
  }
  const bool steps = !is_floating(a.dtype) || !is_floating(b.dtype) || is_one_of(base, kSteps);
  if (std::isinf(given) || (steps && (given > 0 || a.dtype != b.dtype))) return std::nullopt;
  if (steps) return 0;
  if (divides(base) && given > 0) {
    if (phase == Phase::kOptimizer) return std::nullopt;
    given = 2 * std::max(given, worst_at_places(operands));
  }
  const double count = terms(facts, operands, a);
  const double sums = (kRoundingOfFunction + std::sqrt(count)) * std::min(roundoff, kAccumulator);
  const double out = std::max(a.root_mean_square, b.root_mean_square);
  const double factor = kSlack * condition(base, facts, operands, out, count);
  // In equal dtypes both round alike, and a sum in another order moves a result to its neighbour.
  return alike ? factor * (given + sums) + 2 * roundoff : factor * (given + sums + roundoff);
}

}  // namespace dtypecheck::compare
