#include "platform/crc32c.h"

#include <catch2/catch.hpp>
#include <string>

namespace dtypecheck {
namespace {

// RFC 3720, appendix B.4; "123456789" is the check value of all catalogues of CRCs.
TEST_CASE("the checksum is CRC-32C") {
  CHECK(crc32c("123456789", 9) == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0').data(), 32) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff').data(), 32) == 0x62a8ab43);
  CHECK(crc32c("", 0) == 0);
}

TEST_CASE("it goes on where it was left, and the table says the same") {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (size_t at : {0, 1, 7, 8, 9, 150}) {
    CHECK(crc32c(text.data() + at, text.size() - at, crc32c(text.data(), at)) ==
          crc32c(text.data(), text.size()));
    CHECK(crc32c(text.data() + at, 100) == ~crc32c_by_table(text.data() + at, 100, ~0u));
  }
}

}  // namespace
}  // namespace dtypecheck
