#include "core/edit.h"

#include <catch2/catch.hpp>

using namespace dtypecheck;

namespace {

const std::string kText = "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n";

SourceEdit edit(int line, int column, std::string old_text, std::string new_text, int step = 0) {
  return {"train.py", line, column, std::move(old_text), std::move(new_text), step};
}

}  // namespace

TEST_CASE("An edit applies where the old text stands, and is taken back") {
  const std::vector<SourceEdit> edits = {edit(2, 5, "2", "20 +\n  2"), edit(4, 1, "", "x = 9\n"),
                                         edit(5, 1, "e = 5\n", "")};
  const auto text = edited(kText, edits);
  REQUIRE(text == "a = 1\nb = 20 +\n  2\nc = 3\nx = 9\nd = 4\n");
  CHECK(edited(*text, inverted(kText, edits)) == kText);
  CHECK_FALSE(edited(kText, {edit(2, 5, "3", "4")}));
  CHECK_FALSE(edited(kText, {edit(9, 1, "", "x")}));
  CHECK_FALSE(edited(kText, {edit(2, 99, "", "x")}));
  CHECK(end_of(edits[0]) == std::pair(2, 6));
  CHECK(end_of(edits[2]) == std::pair(6, 1));
}

TEST_CASE("Two edits of one place overlap, and two insertions stand beside one another") {
  CHECK_FALSE(edited(kText, {edit(1, 1, "a = 1", "b"), edit(1, 5, "1", "2")}));
  CHECK_FALSE(edited(kText, {edit(1, 1, "a", "b"), edit(1, 1, "a", "c")}));
  CHECK(edited("ab", {edit(1, 2, "", "x"), edit(1, 2, "", "y")}) == "axyb");
}

TEST_CASE("Edits of an edited text are joined with those before") {
  const std::vector<SourceEdit> first = {edit(1, 1, "", "import torch\n"), edit(2, 5, "2", "22")};
  const std::string middle = edited(kText, first).value();
  const std::vector<SourceEdit> then = {edit(3, 6, "2", "3", 1), edit(4, 5, "3", "33", 1)};
  const auto both = joined(kText, first, then);
  CHECK(edited(kText, both) == edited(middle, then));
  REQUIRE(both.size() == 3);
  CHECK(both[1] == edit(2, 5, "2", "23", 0));  // the first step's, for they touch
  CHECK(both[2] == edit(3, 5, "3", "33", 1));
  CHECK(joined(kText, {}, then).size() == 2);
}

TEST_CASE("A diff has a line around each change") {
  CHECK(unified_diff("train.py", kText, {}).empty());
  CHECK(unified_diff("train.py", kText, {edit(2, 5, "2", "22"), edit(4, 1, "", "x = 9\n")}) ==
        "--- train.py\n+++ train.py\n@@ -1,4 +1,5 @@\n a = 1\n-b = 2\n+b = 22\n c = 3\n+x = 9\n "
        "d = 4\n");
  CHECK(
      unified_diff("train.py", kText, {edit(1, 1, "a", "A"), edit(5, 5, "5", "6")}) ==
      "--- train.py\n+++ train.py\n@@ -1,2 +1,2 @@\n-a = 1\n+A = 1\n b = 2\n@@ -4,2 +4,2 @@\n d = "
      "4\n-e = 5\n+e = 6\n");
  CHECK(unified_diff("a", "x", {edit(1, 2, "", "\ny")}) ==
        "--- a\n+++ a\n@@ -1 +1,2 @@\n-x\n+x\n+y\n");
  CHECK(unified_diff("a", "x\r\n", {edit(1, 1, "x", "y")}) ==
        "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n");
}
