#include "reports/causes.h"

#include <catch2/catch.hpp>

namespace dtypecheck::reports {

static Finding finding(const std::string& id, const std::string& follows = "") {
  Finding made;
  made.id = id;
  made.follows = follows;
  return made;
}

static std::string shape(const std::vector<Cause>& forest) {
  std::string text;
  for (const Cause& cause : forest) {
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

TEST_CASE("no finding is lost: absent causes, rings, equal ids") {
  CHECK(shape(causes({finding("a", "gone")})) == "a");
  CHECK(shape(causes({finding("a", "a")})) == "a");
  CHECK(shape(causes({finding("a", "b"), finding("b", "a")})) == "a(b)");
  CHECK(shape(causes({finding("a"), finding("a"), finding("b", "a")})) == "a(b)a");
}

TEST_CASE("a chain of thousands of consequences neither overflows nor loses any") {
  std::vector<Finding> chain = {finding("0")};
  for (int i = 1; i < 5000; ++i) chain.push_back(finding(std::to_string(i), std::to_string(i - 1)));
  size_t count = 0;
  const auto walk = [&](const auto& self, const std::vector<Cause>& forest) -> void {
    for (const Cause& cause : forest) {
      ++count;
      self(self, cause.consequences);
    }
  };
  walk(walk, causes(chain));
  CHECK(count == chain.size());
}

}  // namespace dtypecheck::reports
