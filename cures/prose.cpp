#include "cures/prose.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <regex>

#include "rules/engine/formatting.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cures {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProven:
      return "proven";
    case Verdict::kCures:
      return "cures this";
    case Verdict::kRefuted:
      return "refuted";
    case Verdict::kNotTried:
      return "not tried";
  }
  return "not tried";
}

std::string name_of(const Finding& finding) {
  const rules::Rule* rule = rules::find_rule(finding.rule);
  const bool is_measured = rule != nullptr && rule->says_shares;
  if (is_measured) return finding.rule + "\n" + finding.site.line.function;
  // "gives 0.9596, and 0 in Double": a change that helps in part leaves another number.
  static const std::regex kNumber(R"([-+]?\d+(\.\d+)?(e[-+]?\d+)?)");
  return finding.rule + "\n" + std::regex_replace(finding.message, kNumber, "#");
}

std::string described(const Finding& finding) {
  return fmt::format("{} ({}{})", finding.message, finding.rule, at_place(finding.site));
}

bool loses_steps(const Finding& finding) {
  const rules::Rule* rule = rules::find_rule(finding.rule);
  return rule != nullptr && rule->loses_steps;
}

bool costs_only(const Finding& finding) {
  const rules::Rule* rule = rules::find_rule(finding.rule);
  return rule != nullptr && rule->costs_only;
}

std::string how_far(const Trial& trial) {
  const uint64_t steps = trial.steps();
  const std::string seen = steps == 0 ? "" : fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
  if (trial.ended_well()) return seen.empty() ? "it ran to its end" : seen + " to its end";
  if (trial.end)
    return fmt::format("{}; then it died: {}", seen.empty() ? "it ran" : seen, trial.last_words);
  return (seen.empty() ? "it ran" : seen) + std::string("; its end was not reached");
}

std::string left_words(const Trial& trial) {
  std::vector<std::string> left;
  for (const Finding& finding : trial.findings) {
    const bool is_new = std::find(left.begin(), left.end(), finding.message) == left.end();
    if (finding.severity >= Severity::kWarning && is_new) left.push_back(finding.message);
  }
  return left.empty() ? "no errors, no warnings" : fmt::format("left: {}", fmt::join(left, "; "));
}

}  // namespace dtypecheck::cures
