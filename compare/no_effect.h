// no_effect.h: what is apart in two runs and makes no difference to either.
#pragma once

#include <unordered_map>
#include <vector>

#include "compare/side.h"

namespace dtypecheck::compare {

struct NoEffect {
  std::vector<bool> calls;                     // of the first run
  std::unordered_map<uint32_t, bool> digests;  // of one that is used: all to no effect
};

// A call whose results agree, or all that is computed from them does: a mask of -1e10 and one of
// -inf are the same behind a softmax, and two algorithms are apart on their way to one result.
// What uses a result stands behind what made it. A gradient that is apart is a difference, though
// the optimizer may make nothing of its scale.
NoEffect find_no_effect(const Side& a, const Side& b, const Alignment& alignment);

}  // namespace dtypecheck::compare
