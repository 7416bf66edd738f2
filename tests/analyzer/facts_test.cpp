// Facts come from another process, and what cannot be is refused.
#include "analyzer/facts.h"

#include <catch2/catch.hpp>

#include "platform/error.h"
#include "tests/analyzer/each_fact.h"

namespace dtypecheck::analyzer {

using Catch::Matchers::Contains;

static const std::string kFacts = each_fact();

static std::string with(const std::string& old_text, const std::string& new_text) {
  std::string facts = kFacts;
  REQUIRE(facts.find(old_text) != facts.npos);
  return facts.replace(facts.find(old_text), old_text.size(), new_text);
}

TEST_CASE("facts read back as themselves") {
  const std::string text = facts_to_json(facts_from_json(kFacts));
  CHECK(facts_to_json(facts_from_json(text)) == text);
  CHECK(text == kFacts);
  CHECK(facts_from_json(text).conversions.at(0).to == "f");
  CHECK(facts_from_json(text).half_arithmetic.at(0).fault == HalfFault::kCastChain);
}

TEST_CASE("numbers that no facts have are refused") {
  for (const char* number : {"0", "-3", "2147483647", "4.5", "1e300", "\"4\""}) {
    INFO(number);
    const std::string place = std::string("[\"/a.cpp\",3,") + number + ",20]";
    CHECK_THROWS_AS(facts_from_json(with("[\"/a.cpp\",3,4,20]", place)), InputError);
    const std::string end = std::string("[\"/a.cpp\",3,4,") + number + "]";
    CHECK_THROWS_AS(facts_from_json(with("[\"/a.cpp\",3,4,20]", end)), InputError);
  }
  CHECK_THROWS_WITH(facts_from_json(with("\"functions\":1", "\"functions\":1e30")),
                    Contains("functions is no whole number"));
  CHECK(facts_from_json(with("1e-08", "1e300")).layer_inputs.at(0).scalars.at(0).second == 1e300);
}

}  // namespace dtypecheck::analyzer
