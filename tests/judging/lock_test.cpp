#include "reports/judging/lock.h"

#include <catch2/catch.hpp>

#include "platform/error.h"

namespace dtypecheck::judging {
namespace {

std::string lock_with(const std::string& body) { return "# dtypecheck lock 1\n" + body; }

TEST_CASE("a few bytes do not stand for more than a model has") {
  const std::string op = "  forward aten::mm self=Half -> Half\n";
  const auto entries = [](const std::string& body) {
    size_t count = 0;
    for (const auto& [place, ops] : parse_lock(lock_with(body), "lock").places) count += ops.size();
    return count;
  };
  CHECK(entries("m.{0-9999}\n" + op) == 10000);
  CHECK_THROWS_AS(entries("m.{0-299999}\n" + op), InputError);
  CHECK_THROWS_AS(entries("m.{0-199999}\nn.{0-199999}\n" + op), InputError);
  CHECK_THROWS_AS(entries("m.{0-199999}\n" + op + op), InputError);
}

}  // namespace
}  // namespace dtypecheck::judging
