// Any text is a baseline or an InputError, and a baseline knows what was written into it.
#include "reports/judging/baseline.h"
#include "target.h"

namespace dtypecheck::fuzz {

static std::vector<Finding> findings_of(std::string_view text) {
  std::vector<Finding> findings;
  for (; text.size() >= 16; text.remove_prefix(16)) {
    findings.push_back({.id = std::string(text.substr(0, 16)), .rule = "raw-cast"});
    findings.back().site.line = {"/src/" + std::string(text), 7, "f"};
  }
  return findings;
}

void test_input(std::string_view input) {
  std::vector<Finding> findings = findings_of(input);
  const GivenFile given(input);
  judging::Baseline::read(given.path()).drop_known(findings);
  judging::baseline_text(findings, "/src");
}

}  // namespace dtypecheck::fuzz
