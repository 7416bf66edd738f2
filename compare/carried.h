// carried.h: how far apart what a call computes with was already, where its digests may not show
// it.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compare/side.h"

namespace dtypecheck::compare {

inline bool is_weight(const Digest& digest) {
  return !digest.parameter.empty() && !digest.is_gradient;
}

// Of each parameter, how far apart it is after a step.
using WeightsApart = std::map<std::string, std::vector<std::pair<uint32_t, double>>>;

// In one of the runs, call by call.
class Carried {
 public:
  Carried(const Side& side, const WeightsApart& weights)
      : side_(side), weights_apart_(weights), by_digest_(side.process.digests.size() + 1) {}

  double into(size_t call, bool of_weights = true) const;
  void out_of(size_t call, double most);

 private:
  double weight_apart_before(uint32_t step, const std::string& parameter) const;

  const Side& side_;
  const WeightsApart& weights_apart_;
  std::vector<double> by_digest_;
};

}  // namespace dtypecheck::compare
