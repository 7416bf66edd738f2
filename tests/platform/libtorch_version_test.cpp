#include "platform/libtorch_version.h"

#include <catch2/catch.hpp>

#include "tests/files.h"

namespace dtypecheck {

TEST_CASE("versions as wheels and archives write them") {
  CHECK(parse_version("2.11.0") == Version{2, 11, 0});
  CHECK(parse_version("2.11.0+cu130") == Version{2, 11, 0});
  CHECK(parse_version("1.13.1a0\n") == Version{1, 13, 1});
  CHECK(Version{2, 9, 1} < Version{2, 11, 0});
  CHECK(Version{2, 11, 3}.to_string() == "2.11.3");
}

TEST_CASE("a minor version is in the order of its numbers, whatever stands behind them") {
  CHECK(parse_minor("2.11.0+cu130") == Version{2, 11, 0});
  CHECK(parse_minor("1.13")->minor_name() == "1.13");
  CHECK(parse_minor("2.9.1") < parse_minor("2.11.0"));
  for (const char* text : {"", "2", "0", "2.", "x.1"}) CHECK_FALSE(parse_minor(text).has_value());
}

TEST_CASE("what is no version") {
  for (const char* text : {"", "main", "2", "2.", "2.11", "2.11.", "2.-1.0", "v2.11.0", " 2.11.0",
                           "99999999999.1.0", "2..0"}) {
    INFO(text);
    CHECK_FALSE(parse_version(text).has_value());
  }
}

TEST_CASE("the version that headers state") {
  const test::TemporaryFolder folder;
  CHECK_FALSE(version_of_headers(folder.path()).has_value());
  folder.write("torch/csrc/api/include/torch/version.h",
               "/// Major.\n#define TORCH_VERSION_MAJOR 2\n"
               "#define TORCH_VERSION_MINOR  9\n"
               "#define TORCH_VERSION_PATCH 1\n"
               "#define TORCH_VERSION \"2.9.1\"\n");
  CHECK(version_of_headers(folder.path()) == Version{2, 9, 1});
  // From 2.10 on that file includes the one that has the numbers.
  folder.write("torch/headeronly/version.h",
               "#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR @MINOR@\n");
  CHECK(version_of_headers(folder.path()) == Version{2, 9, 1});
}

TEST_CASE("libtorch_version: the language of its headers") {
  CHECK(language_of_headers({1, 13, 1}) == 17);
  CHECK(language_of_headers({2, 13, 9}) == 17);
  CHECK(language_of_headers({2, 14, 0}) == 20);
}

}  // namespace dtypecheck
