// between.h: op calls of one run alone between two that both have, where they move the numbers.
#pragma once

#include <optional>
#include <vector>

#include "compare/compare.h"
#include "compare/side.h"

namespace dtypecheck::compare {

// What stands between an operand and the aligned calls that it comes from.
struct Between {
  std::vector<size_t> alone;    // calls of this run alone
  std::vector<size_t> aligned;  // where they end
  double roundoff = 0;          // the lowest dtype on the way
  bool has_sum = false;         // of two tensors
};

class OpsBetween {
 public:
  // `result_distances`: of the aligned calls of the first run, as they become known.
  OpsBetween(const Side& a, const Side& b, const Alignment& alignment,
             const std::vector<double>& result_distances)
      : a_(a), b_(b), alignment_(alignment), result_distances_(result_distances) {}

  // Where the operands of two aligned calls are further apart than where they were made: by
  // kRounding, or else by kBetween.
  std::optional<Divergence> find(size_t i, size_t j, uint32_t ia, uint32_t ib, double apart) const;

 private:
  bool meet(const Between& in_a, const Between& in_b) const;
  std::optional<Divergence> find_unseen(const DigestedCall& call, const Side& side, size_t maker,
                                        const Digest& a, const Digest& b, double apart) const;

  const Side &a_, &b_;
  const Alignment& alignment_;
  const std::vector<double>& result_distances_;
};

}  // namespace dtypecheck::compare
