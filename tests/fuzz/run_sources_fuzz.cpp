// Any text is the source lines of a run or an InputError, and what was read is written and read
// again.
#include "target.h"
#include "trace/sources.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const Sources sources = Sources::parse(input, "fuzz");
  require(sources.line("", -1).size() <= input.size() * 4);
  const GivenFolder given("", {});
  sources.write(GivenFolder::path());
  const Sources again = Sources::read(GivenFolder::path());
  require(again.line("train.py", 1) == sources.line("train.py", 1));
  require(!again.is_unchanged(std::string(GivenFolder::path()) + "/none"));
}

}  // namespace dtypecheck::fuzz
