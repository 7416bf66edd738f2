// causes.h: findings as a forest. A cause stands with the consequences that follow from it, unless
// one of them is worse: what a run died of comes first, and its cause stands below it.
#pragma once

#include <vector>

#include "core/finding.h"

namespace dtypecheck::reports {

struct Cause {
  const Finding* finding;
  std::vector<Cause> consequences;
  std::vector<Cause> caused_by;  // at most one: the less severe finding that this one follows
};

// Keeps the given order among causes and among the consequences of one cause; of several that are
// worse than their cause, the first of the worst leads. A finding whose
// cause is not there, or whose causes form a ring, stands as a cause itself: none is left out.
std::vector<Cause> causes(const std::vector<Finding>& findings);

}  // namespace dtypecheck::reports
