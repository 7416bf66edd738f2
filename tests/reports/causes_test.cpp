#include "reports/causes.h"

#include <catch2/catch.hpp>

namespace dtypecheck::reports {

static Finding finding(const std::string& id, const std::string& follows = "",
                       Severity severity = Severity::kWarning) {
  Finding made;
  made.id = id;
  made.follows = follows;
  made.severity = severity;
  return made;
}

static Finding error(const std::string& id, const std::string& follows = "") {
  return finding(id, follows, Severity::kError);
}

static std::string shape(const std::vector<CauseTree>& forest) {
  std::string text;
  for (const CauseTree& cause : forest) {
    text += cause.finding->id;
    if (cause.consequences.empty()) continue;
    text += '(';
    text += shape(cause.consequences);
    text += ')';
  }
  return text;
}

TEST_CASE("consequences stand with their causes, each in the given order") {
  CHECK(shape(causes({})).empty());
  CHECK(shape(causes({finding("a"), finding("b"), finding("c", "a"), finding("d", "a")})) ==
        "a(cd)b");
  CHECK(shape(causes({finding("c", "b"), finding("b", "a"), finding("a")})) == "a(b(c))");
}

TEST_CASE("causes are counted, and consequences apart") {
  const Count counted = count({error("e"), finding("w", "e"), error("f", "w"), finding("x"),
                               finding("y", "gone"), finding("n", "", Severity::kNote)});
  CHECK(counted.causes == 4);
  CHECK(counted.errors == 1);
  CHECK(counted.warnings == 2);
  CHECK(counted.notes == 1);
  CHECK(counted.consequences == 2);
}

TEST_CASE("no finding is lost: absent causes, rings, equal ids") {
  CHECK(shape(causes({finding("a", "gone")})) == "a");
  CHECK(shape(causes({finding("a", "a")})) == "a");
  CHECK(shape(causes({finding("a", "b"), finding("b", "a")})) == "a(b)");
  CHECK(shape(causes({finding("a"), finding("a"), finding("b", "a")})) == "a(b)a");
}

TEST_CASE("a chain of thousands of consequences neither overflows nor loses any") {
  std::vector<Finding> chain = {finding("0")};
  for (int i = 1; i < 5000; ++i) chain.push_back(finding(std::to_string(i), std::to_string(i - 1)));
  size_t seen = 0;
  const auto walk = [&](const auto& self, const std::vector<CauseTree>& forest) -> void {
    for (const CauseTree& cause : forest) {
      ++seen;
      self(self, cause.consequences);
    }
  };
  walk(walk, causes(chain));
  CHECK(seen == chain.size());
  CHECK(count(chain).causes == 1);
}

}  // namespace dtypecheck::reports
