#include "platform/hash.h"

#include <catch2/catch.hpp>
#include <string>

namespace dtypecheck {

// Known answers of FNV-1a, 64 bits, by its authors: draft-eastlake-fnv, appendix C.
static_assert(fnv1a("") == 0xcbf29ce484222325u);
static_assert(fnv1a("a") == 0xaf63dc4c8601ec8cu);
static_assert(fnv1a("foobar") == 0x85944171f73967e8u);

TEST_CASE("the hash is FNV-1a of 64 bits") {
  CHECK(fnv1a(std::string(1, '\0')) == 0xaf63bd4c8601b7dfu);
  CHECK(fnv1a("chongo was here!\n") == 0x46810940eff5f915u);
  CHECK(fnv1a("\xff") == 0xaf64724c8602eb6eu);  // no sign is extended
}

TEST_CASE("a text is hashed in pieces as in one") {
  CHECK(fnv1a("bar", fnv1a("foo")) == fnv1a("foobar"));
}

TEST_CASE("fields are distinguished") {
  CHECK(fnv1a_next("c", fnv1a("ab")) != fnv1a_next("bc", fnv1a("a")));
  CHECK(fnv1a_next("", fnv1a("a")) != fnv1a("a"));
}

}  // namespace dtypecheck
