// parameters.h: an optimizer's op calls, parameter by parameter. One run steps its parameters one
// by one, another in lists, and FullyShardedDataParallel in a flat tensor of many, of which each
// rank has a part: an op call for each parameter is what all of them have in common.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trace/digests.h"

namespace dtypecheck::compare {

// A part of a parameter in a flat tensor: its shape says nothing.
bool is_flat(const Digest& digest);
bool has_flat(const std::vector<DigestedProcess>& processes);

// With an op call for each parameter that an optimizer's op is given, which has its name. States
// have the cut of their parameter. An op whose tensors are not all of known parameters stays.
DigestedProcess by_parameter(const DigestedProcess& process);

// The first rank, with the op calls of parameters of which it holds nothing as another rank has
// them, behind its own of the step's optimizer.
DigestedProcess with_all_parameters(const std::map<int, const DigestedProcess*>& ranks);

}  // namespace dtypecheck::compare
