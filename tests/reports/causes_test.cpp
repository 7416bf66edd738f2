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

static std::string shape(const std::vector<Cause>& forest) {
  std::string text;
  for (const Cause& cause : forest) {
    text += cause.finding->id;
    if (!cause.caused_by.empty()) text += "<" + shape(cause.caused_by) + ">";
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

TEST_CASE("an error leads, and the warning that it follows stands below it") {
  CHECK(shape(causes({finding("w"), error("e", "w")})) == "e<w>");
  CHECK(shape(causes({finding("v"), finding("w", "v"), error("e", "w")})) == "e<w<v>>");
  CHECK(shape(causes({finding("w"), error("e", "w"), error("f", "w"), finding("x", "e")})) ==
        "e<w(f)>(x)");
  CHECK(shape(causes({finding("w"), error("e", "w"), finding("z"), error("g", "gone")})) ==
        "e<w>zg");
}

TEST_CASE("a cause that is as bad as its consequences leads them") {
  CHECK(shape(causes({error("e"), error("f", "e"), finding("w", "f")})) == "e(f(w))");
  CHECK(shape(causes({finding("w"), finding("x", "w")})) == "w(x)");
  CHECK(shape(causes({error("e"), finding("w", "e"), error("f", "w")})) == "e(w(f))");
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
      self(self, cause.caused_by);
      self(self, cause.consequences);
    }
  };
  walk(walk, causes(chain));
  CHECK(count == chain.size());
  chain.back().severity = Severity::kError;
  chain[9].severity = Severity::kError;
  count = 0;
  walk(walk, causes(chain));
  CHECK(count == chain.size());
}

}  // namespace dtypecheck::reports
