#include "compare/distance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/parameters.h"

namespace dtypecheck::compare {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Squared; an infinity where one is no number and the other is.
static double apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double difference = a - b;
  return std::isfinite(difference) ? difference * difference : kInfinity;
}

// Of a rank that computes in another dtype than the others, what was a copy on each is none.
static bool is_of_copies(const Digest& of, const Digest& one) {
  return of.is_mixed && of.count == one.count * of.parts;
}

static Digest one_of_copies(Digest digest) {
  digest.count /= digest.parts;
  digest.finite /= digest.parts;
  digest.is_mixed = false;
  return digest;
}

std::optional<double> distance(const Digest& a, const Digest& b) {
  if (a.is_unknown || b.is_unknown) return std::nullopt;
  if (is_of_copies(a, b)) return distance(one_of_copies(a), b);
  if (is_of_copies(b, a)) return distance(a, one_of_copies(b));
  const bool is_joined = a.parts > 1 || b.parts > 1 || is_flat(a) || is_flat(b);
  if (a.count != b.count) return std::nullopt;
  if (!is_joined && (a.shape != b.shape || a.places.size() != b.places.size())) return std::nullopt;
  if (a.count == 0) return 0;
  if (a.finite != b.finite) return kInfinity;
  double squares = 0;
  for (size_t i = 0; i < std::min(a.places.size(), b.places.size()); ++i)
    squares += apart(a.places[i], b.places[i]);
  if (std::isinf(squares)) return kInfinity;
  const double places =
      std::sqrt(squares / std::max<double>(static_cast<double>(a.places.size()), 1));
  const double largest = std::fabs(a.largest - b.largest) / std::sqrt(static_cast<double>(a.count));
  const double most = std::max({places, std::fabs(a.root_mean_square - b.root_mean_square),
                                std::fabs(a.mean - b.mean), largest});
  const double scale = std::max(a.root_mean_square, b.root_mean_square);
  return most == 0 ? 0 : scale > 0 ? most / scale : kInfinity;
}

bool is_floating(Dtype dtype) { return unit_roundoff(dtype) > 0; }

double unit_roundoff(Dtype dtype) {
  switch (dtype) {
    case Dtype::kDouble:
      return 0x1p-53;
    case Dtype::kFloat:
      return 0x1p-24;
    case Dtype::kHalf:
      return 0x1p-11;
    case Dtype::kBFloat16:
      return 0x1p-8;
    default:
      return 0;
  }
}

double lowest_roundoff(const DigestedProcess& process) {
  double lowest = 0;
  for (const Digest& digest : process.digests)
    lowest = std::max(lowest, unit_roundoff(digest.dtype));
  return lowest;
}

}  // namespace dtypecheck::compare
