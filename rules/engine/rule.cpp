#include "rules/engine/rule.h"

#include <algorithm>

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
  const auto rule =
      std::ranges::find_if(rules, [&](const Rule* candidate) { return candidate->doc.id == id; });
  return rule == rules.end() ? nullptr : *rule;
}

std::vector<Finding> judge(const Run& run, const JudgeOptions& options) {
  return judge(RunIndex(run), options);
}

std::vector<Finding> judge(const RunIndex& index, const JudgeOptions& options) {
  Findings findings(index.run(), options);
  for (const Rule* rule : all_rules()) {
    if (options.is_source && !rule->judges_source) continue;
    findings.rule_ = rule;
    if (rule->check_run != nullptr) rule->check_run(index, findings);
    if (rule->check == nullptr) continue;
    for (const OpCall& call : index.judged_calls()) rule->check(call, index, findings);
  }
  return findings.ordered();
}

}  // namespace dtypecheck::rules
