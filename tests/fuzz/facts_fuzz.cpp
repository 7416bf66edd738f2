// What the parsing process answers may be anything: it gives facts, which read back as themselves
// and which every check and rule can judge, or an InputError.
#include "analyzer/check.h"
#include "analyzer/op_calls.h"
#include "target.h"

namespace dtypecheck::fuzz {

static void require_reads_back(const std::string& json) noexcept {
  require(analyzer::facts_to_json(analyzer::facts_from_json(json)) == json);
}

void test_input(std::string_view input) {
  const analyzer::SourceFacts facts = analyzer::facts_from_json(std::string(input));
  require_reads_back(analyzer::facts_to_json(facts));
  analyzer::judge(facts);
  Run run;
  analyzer::judge_ops({facts}, "2.11.0", nullptr, run);
}

}  // namespace dtypecheck::fuzz
