// Any text is a dtype policy or an InputError, and what is wrong with a policy can be said.
#include "runtime/policy.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const GivenFile given(input);
  const runtime::DtypePolicy policy = runtime::read_policy(given.path());
  for (const std::string& reason : runtime::why_broken(policy, {})) require(!reason.empty());
  runtime::why_part_broken("t5", policy.t5);
}

}  // namespace dtypecheck::fuzz
