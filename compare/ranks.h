// ranks.h: the processes of a run of many ranks, and their tensors put together, for a comparison
// with a run of fewer: each of n ranks works on a part of the batch, or keeps a shard of a weight.
#pragma once

#include <map>
#include <vector>

#include "trace/digests.h"

namespace dtypecheck::compare {

// Of each rank the process with most op calls. Only processes with digests, and ranks that are
// known.
std::map<int, const DigestedProcess*> ranks_of(const std::vector<DigestedProcess>& processes);

// The first of them, with the digest of each tensor that differs among the ranks made one of all
// its parts: their elements, mean, root mean square and largest element, but no places, for how the
// tensor is cut is not known. Of gradients, which reach the backward pass first, a rank's share:
// the ranks' average is taken later. What is equal on all ranks, and what one of them has alone,
// stays.
DigestedProcess put_together(const std::map<int, const DigestedProcess*>& ranks);

}  // namespace dtypecheck::compare
