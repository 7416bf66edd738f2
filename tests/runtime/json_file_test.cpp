// A config that is built to bring the reader down is refused as any other wrong one.
#include "runtime/json_file.h"

#include <catch2/catch.hpp>

#include "platform/error.h"
#include "tests/files.h"

namespace dtypecheck::runtime {

TEST_CASE("a file of brackets is refused, not walked until the stack ends") {
  const test::TemporaryFolder folder;
  const std::string brackets = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const std::string path = folder.write("config.json", "{\"vocab_size\": " + brackets + "}");
  CHECK_THROWS_WITH(JsonObject::read(path), Catch::Matchers::Contains("more than 64 deep"));
}

}  // namespace dtypecheck::runtime
