#include <catch2/catch.hpp>

#include "platform/error.h"
#include "rules/engine/rule.h"
#include "tests/files.h"

using namespace dtypecheck;
using namespace dtypecheck::rules;

namespace {

Finding finding(std::string rule, std::string file, int line, std::string module = "") {
  Finding finding;
  finding.id = rule + file + std::to_string(line);
  finding.rule = std::move(rule);
  finding.site.line = {std::move(file), line, "main"};
  finding.site.module = std::move(module);
  return finding;
}

size_t left(const std::string& text, std::vector<Finding> findings) {
  suppress(findings, parse_suppressions(text, "accepted.txt"));
  return findings.size();
}

std::string error_of(const std::string& text) {
  try {
    parse_suppressions(text, "accepted.txt");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a place is a file, a line in it, or a pattern of modules") {
  const Finding cat = finding("silent-promotion", "/home/me/train.py", 91, "unet.conv_in");
  CHECK(left("silent-promotion  # wanted", {cat}) == 0);
  CHECK(left("silent-promotion train.py  # wanted", {cat}) == 0);
  CHECK(left("silent-promotion me/train.py:91  # wanted", {cat}) == 0);
  CHECK(left("silent-promotion module=unet.*  # wanted", {cat}) == 0);
  CHECK(left("silent-promotion module=*conv?in  # wanted", {cat}) == 0);
}

TEST_CASE("what is not quite the place is still reported") {
  const Finding cat = finding("silent-promotion", "/home/me/train.py", 91, "unet.conv_in");
  CHECK(left("mixed-operands train.py  # another rule", {cat}) == 1);
  CHECK(left("silent-promotion train.py:92  # another line", {cat}) == 1);
  CHECK(left("silent-promotion rain.py  # no whole name", {cat}) == 1);
  CHECK(left("silent-promotion module=vae.*  # another module", {cat}) == 1);
  CHECK(left("silent-promotion module=unet  # no pattern that reaches it", {cat}) == 1);
}

TEST_CASE("comments, empty lines and Windows line ends are read over") {
  CHECK(
      parse_suppressions("# about us\n\n  \r\nlost-update a.py # ok\r\n", "accepted.txt").size() ==
      1);
}

TEST_CASE("a reason is asked for, and a rule that exists") {
  CHECK(error_of("\nlost-update a.py") ==
        "accepted.txt:2: expected \"RULE [PLACE]  # reason\", got \"lost-update a.py\" with no "
        "reason; say "
        "after a # why it is accepted");
  CHECK(error_of("lost-update a.py #  ") != "");
  CHECK(error_of("lost-updates # typo")
            .find("got \"lost-updates\"; the rules are mixed-operands, ") != std::string::npos);
  CHECK(error_of("lost-update module= # which") != "");
}

TEST_CASE("the line of a suppression that matched nothing comes back") {
  std::vector<Finding> findings = {finding("lost-update", "a.py", 3)};
  const auto all =
      parse_suppressions("lost-update a.py:3 # ok\nlost-update b.py # gone", "accepted.txt");
  std::vector<Suppression> unused;
  CHECK(suppress(findings, all, &unused) == 1);
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].text_line == 2);
  CHECK(unused[0].reason == "gone");
}

TEST_CASE("a cause that was accepted is no longer named") {
  std::vector<Finding> findings = {finding("silent-promotion", "a.py", 3),
                                   finding("mixed-operands", "a.py", 4)};
  findings[1].follows = findings[0].id;
  suppress(findings, parse_suppressions("silent-promotion a.py # ok", "accepted.txt"));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].follows.empty());
}

TEST_CASE("a file that is not there") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_AS(read_suppressions(folder.file("none")), InputError);
}
