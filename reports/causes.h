// causes.h: findings as a forest. A cause stands with the consequences that follow from it, and
// causes are what is counted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/finding.h"

namespace dtypecheck::reports {

struct CauseTree {
  const Finding* finding;
  std::vector<CauseTree> consequences;
};

// Keeps the given order among causes and among the consequences of one cause. A finding whose cause
// is not there, or whose causes form a ring, stands as a cause itself: none is left out.
std::vector<CauseTree> causes(const std::vector<Finding>& findings);

struct Count {
  uint64_t causes = 0;
  uint64_t errors = 0, warnings = 0, notes = 0;  // of the causes
  uint64_t consequences = 0;
};
Count count(const std::vector<Finding>& findings);

}  // namespace dtypecheck::reports
