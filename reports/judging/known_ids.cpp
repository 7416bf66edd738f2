#include "reports/judging/known_ids.h"

#include <algorithm>

#include "analyzer/check.h"
#include "rules/engine/rule.h"

namespace dtypecheck::judging {

std::vector<std::string> known_ids() {
  std::vector<std::string> ids;
  for (const rules::Rule* rule : rules::all_rules()) ids.emplace_back(rule->doc.id);
  for (const analyzer::Check* check : analyzer::all_checks()) ids.emplace_back(check->doc.id);
  return ids;
}

bool is_known_id(std::string_view id) {
  const std::vector<std::string> ids = known_ids();
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace dtypecheck::judging
