// Any text is a file of suppressions or an InputError; what it accepts is dropped, and what it does
// not use is named.
#include "rules/engine/rule.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const auto suppressions = rules::parse_suppressions(input, "fuzz");
  std::vector<Finding> findings;
  for (const rules::Suppression& one : suppressions) {
    require(!one.reason.empty() && rules::find_rule(one.rule) != nullptr);
    Finding& finding = findings.emplace_back();
    finding.rule = one.rule;
    finding.site.line = {"/home/me/" + one.file, one.line, "main"};
    finding.site.module = "unet.down_blocks.0.attentions.0.proj_in";
  }
  const size_t before = findings.size();
  std::vector<rules::Suppression> unused;
  const size_t dropped = rules::suppress(findings, suppressions, &unused);
  require(dropped + findings.size() == before && unused.size() <= suppressions.size());
}

}  // namespace dtypecheck::fuzz
