// expected.h: how far apart the results of an op may be where its operands are so far apart and
// both runs round, each in its own dtypes.
//
// A result is off by what its operands are off, times the op's condition, and by its own rounding:
// the unit roundoff of the lowest dtype, and for a sum of K products that of its accumulator times
// the root of K. Where both runs have the same dtypes they round alike, and the former is that of
// one result that a sum in another order moved to its neighbour. The condition comes from sizes:
// operands that are large beside the result cancel; exp() turns an absolute error into a relative
// one; a norm divides by the standard deviation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trace/digests.h"

namespace dtypecheck::compare {

struct OperandPair {
  const Digest* a;
  const Digest* b;
  double distance;
};

// As distance() has it. None where sizes do not tell: an op that rounds to whole numbers, answers
// in integers or divides in an optimizer, of operands that are apart.
std::optional<double> expected_distance(const std::string& op, Phase phase,
                                        const std::vector<OperandPair>& operands, const Digest& a,
                                        const Digest& b);

// How much of an error of the operand at this place the result has: a layer's bias, which is added
// to a product, counts by its size.
double share_in_result(const std::string& op, size_t place, const Digest& operand,
                       const Digest& result);

// It draws random numbers.
bool is_random(const std::string& op);

}  // namespace dtypecheck::compare
