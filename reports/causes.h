// causes.h: findings as a forest: each cause with the consequences that follow from it.
#pragma once

#include <vector>

#include "core/finding.h"

namespace dtypecheck::reports {

struct Cause {
  const Finding* finding;
  std::vector<Cause> consequences;
};

// Keeps the given order among causes and among the consequences of one cause. A finding whose
// cause is not there, or whose causes form a ring, stands as a cause itself: none is left out.
std::vector<Cause> causes(const std::vector<Finding>& findings);

}  // namespace dtypecheck::reports
