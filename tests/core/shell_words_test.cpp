#include "core/shell_words.h"

#include <catch2/catch.hpp>

namespace dtypecheck {

using Words = std::vector<std::string>;

TEST_CASE("what is quoted is read again as it was") {
  const std::string word =
      GENERATE("train.py", "", "a b", "it's", "$HOME", "a\\b", "x=[1]", "\"", "-- 'a b' \\'c");
  CHECK(split_words("first " + quoted_word(word)) == Words{"first", word});
}

TEST_CASE("a word is quoted where a shell would change it, and there alone") {
  CHECK(quoted_word("--lr=1e-4") == "--lr=1e-4");
  CHECK(quoted_word("*.py") == "'*.py'");
}

TEST_CASE("words are split as a shell does") {
  CHECK(split_words("  cc -DA='a b'\n\"-DB=\\\"c\\\"\"\t'\\'\n") ==
        Words{"cc", "-DA=a b", "-DB=\"c\"", "\\"});
  CHECK(split_words(" ").empty());
}

}  // namespace dtypecheck
