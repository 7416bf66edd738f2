// dtypecheck rules: every rule in a line, or all there is to know about one.
#include <memory>

#include "cli/command.h"
#include "cli/doc_pages.h"
#include "platform/output.h"
#include "rules/engine/rule.h"

namespace dtypecheck::cli {

static int run(const std::string& id) {
  const std::vector<Doc> docs = docs_of(rules::all_rules());
  return print_text(
      id.empty()
          ? doc_list(docs, "dtypecheck rules ID shows the reason, the cure and an example of one")
          : doc_page(docs, "rule", id, "dtypecheck rules lists them all"));
}

static std::function<int()> set_up(Options& options) {
  auto id = std::make_shared<std::string>();
  options.add("ID", *id, "the id of a rule to explain").type("");
  return [id] { return run(*id); };
}

extern const Command rules_command = {
    .name = "rules",
    .summary = "list the rules, or explain one",
    .arguments = "[ID]",
    .examples =
        "  dtypecheck rules\n"
        "  dtypecheck rules mixed-operands\n",
    .set_up = set_up,
};

}  // namespace dtypecheck::cli
