#include "rules/engine/rule.h"

#include <algorithm>

#include "rules/engine/run_index.h"

namespace dtypecheck::rules {

const std::vector<const Rule*>& all_rules() {
  static const std::vector<const Rule*> rules = {
#define RULE(name) &name,
#include "rules/rule_list.inc"
#undef RULE
  };
  return rules;
}

const Rule* find_rule(std::string_view id) {
  const auto& rules = all_rules();
  const auto rule = std::find_if(rules.begin(), rules.end(),
                                 [&](const Rule* candidate) { return candidate->doc.id == id; });
  return rule == rules.end() ? nullptr : *rule;
}

std::vector<Finding> judge(const Run& run, const JudgeOptions& options) {
  Findings findings(run, options);
  for (const Rule* rule : all_rules()) {
    findings.rule_ = rule;
    if (rule->check_run != nullptr) rule->check_run(run, findings);
    if (rule->check == nullptr) continue;
    for (const OpCall& call : run.calls) {
      if (findings.index().is_judged(call)) rule->check(call, run, findings);
    }
  }
  return findings.take();
}

}  // namespace dtypecheck::rules
