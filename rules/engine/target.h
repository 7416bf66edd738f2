// target.h: which calls of a run would be refused on another device or in another LibTorch, by the
// contracts alone.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "rules/contracts/contracts.h"
#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

struct TargetRefusal {
  OpCallId call;
  contracts::Answer answer;
};

struct TargetAnswers {
  size_t runtime = 0;                   // the target's number in the contracts
  std::vector<TargetRefusal> refusals;  // of calls that returned here, outermost first
  size_t known = 0;                     // op calls that the target's contracts speak of
  std::set<std::string> unknown;        // ops that they do not
};

// A composite op and the ops inside it are one call: what is known of the outer one decides. If the
// contracts of the run's own LibTorch wrongly say that a call is refused, the target's are not
// asked: the call depends on more than its dtypes.
TargetAnswers target_answers(const RunIndex& index, const contracts::Contracts& contracts,
                             size_t target);

}  // namespace dtypecheck::rules
