// Runs a fuzz target over its corpus, which holds the first inputs and every crash that was found,
// without libFuzzer.
#include <catch2/catch.hpp>
#include <cstdint>

#include "tests/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size_bytes);

TEST_CASE("the corpus passes") {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DTYPECHECK_CORPUS)) {
    const std::string bytes = dtypecheck::test::read_bytes(entry.path());
    INFO(entry.path().filename().string());
    CHECK(LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()) ==
          0);
    ++count;
  }
  CHECK(count > 0);
}
