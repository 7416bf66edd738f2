// Runs a fuzz target over its corpus, which holds the first inputs and every crash that was found,
// without libFuzzer.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>

#include "tests/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes);

TEST_CASE("the corpus passes") {
  const char* const corpus = std::getenv("DTYPECHECK_CORPUS");
  REQUIRE(corpus != nullptr);
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    const std::string bytes = dtypecheck::test::read_bytes(entry.path());
    INFO(entry.path().filename().string());
    CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) ==
          0);
    ++count;
  }
  CHECK(count > 0);
}
