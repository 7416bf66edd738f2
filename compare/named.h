// named.h: weights, gradients and optimizers' states of a run by the names of the parameters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "trace/digests.h"

namespace dtypecheck::compare {

enum class NumberKind : uint8_t { kWeight, kGradient, kState };

// Step, kind and name, to the index of the digest + 1: of the last of each weight in the optimizer
// of the step, of the first of its gradient. A state is what an op of the optimizer was given
// beside gradients, with no name of its own: "net.weight by lerp_", of the last such op.
using Names = std::map<std::tuple<uint32_t, NumberKind, std::string>, uint32_t>;
Names names_in(const DigestedProcess& process);

// The index + 1 of the first digest of each weight.
std::map<std::string, uint32_t> first_weights(const DigestedProcess& process);

// A weight of which ranks of one run held equal copies at first, and then did not.
struct Drift {
  int rank = 0;  // against the first rank
  uint32_t step = 0;
  size_t weights = 0;     // so many after that step
  std::string parameter;  // the one that is furthest apart
  double distance = 0;
};
// Of each rank the first. Silent where most weights differ from the start: these are shards, or
// models of their own.
std::vector<Drift> drifts_among_ranks(const std::vector<DigestedProcess>& processes);

}  // namespace dtypecheck::compare
