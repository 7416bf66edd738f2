// dtypecheck rules: every rule of runs and check of source in a line, or all there is to know about
// one: whatever stands behind a finding.
#include <memory>

#include "analyzer/check.h"
#include "cli/command.h"
#include "cli/doc_pages.h"
#include "platform/output.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cli {

static int run(const std::string& id) {
  std::vector<Doc> docs = docs_of(rules::all_rules());
  const std::vector<Doc> checks = docs_of(analyzer::all_checks());
  docs.insert(docs.end(), checks.begin(), checks.end());
  return print_text(
      id.empty()
          ? doc_list(docs, "dtypecheck rules ID shows the reason, the cure and an example of one")
          : doc_page(docs, "rule", id, "dtypecheck rules lists them all"));
}

static std::function<int()> set_up(Options& options) {
  auto id = std::make_shared<std::string>();
  options.add("ID", *id, "the id of a rule or check to explain").type("");
  return [id] { return run(*id); };
}

extern const Command rules_command = {
    .name = "rules",
    .summary = "list the rules and the checks of source, or explain one",
    .arguments = "[ID]",
    .examples =
        "  dtypecheck rules\n"
        "  dtypecheck rules mixed-operands\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
