// changed_run.h: what the rules say of a run in which some calls are others. Rules look at a whole
// run, and a run may have 50,000 op calls; so they are shown one call of each kind: of one line,
// with the same dtypes. Its operands come from the calls that stand for their origins.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rules/engine/rule.h"
#include "rules/engine/spread.h"

namespace dtypecheck::rules {

// What makes a finding of one run that of another: rule, line, op and class of module.
std::string key_of(const Finding& finding, const Run& run);

class ChangedRun {
 public:
  ChangedRun(const Run& run, const JudgeOptions& options);

  // Findings of warnings and errors, by key: of the run as it was, and as it would be. Their call
  // is one of the run as it was. Calls that are `healed` were refused and no longer are; `now`
  // gives a changed call as it would be.
  const std::map<std::string, Finding>& before();
  std::map<std::string, Finding> after(const ChangedCalls& changed,
                                       const std::set<OpCallId>& healed,
                                       const std::function<OpCall(const OpCall&)>& now) const;
  // How long rules take, in op calls that are merely looked at: a refusal has many words.
  size_t cost() const { return cost_; }

 private:
  const Run& run_;
  JudgeOptions options_;
  std::vector<uint64_t> kinds_;  // of each call as it was
  size_t cost_ = 0;
  std::optional<std::map<std::string, Finding>> before_;
};

}  // namespace dtypecheck::rules
