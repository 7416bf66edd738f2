#include "platform/text.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace dtypecheck {

TEST_CASE("blanks go at both ends") {
  CHECK(trimmed(" \t a b\r\n") == "a b");
  CHECK(trimmed("a") == "a");
  CHECK(trimmed(" \t\r\n").empty());
  CHECK(trimmed("").empty());
}

TEST_CASE("pieces are taken one by one") {
  std::vector<std::string_view> pieces;
  for (std::string_view rest = "a,,b,"; !rest.empty();) pieces.push_back(next_piece(rest, ','));
  CHECK(pieces == std::vector<std::string_view>{"a", "", "b"});
  std::string_view none;
  CHECK(next_piece(none, ',').empty());
}

TEST_CASE("globs") {
  CHECK(matches_glob("unet.conv_in", "unet.*"));
  CHECK(matches_glob("unet.conv_in", "*conv?in"));
  CHECK(matches_glob("unet.conv_in", "*"));
  CHECK(matches_glob("unet", "unet*"));
  CHECK(matches_glob("a*b", "a*b"));
  CHECK(matches_glob("", ""));
  CHECK(matches_glob("", "*"));
  CHECK_FALSE(matches_glob("unet.conv_in", "conv*"));
  CHECK_FALSE(matches_glob("unet", "unet?"));
  CHECK_FALSE(matches_glob("unet", ""));
}

// Tried from the left with a call for each star, this takes longer than the universe has.
TEST_CASE("a glob of many stars is decided at once") {
  std::string stars;
  for (int i = 0; i < 40; ++i) stars += "*a";
  CHECK_FALSE(matches_glob(std::string(2'000, 'a'), stars + "b"));
  CHECK(matches_glob(std::string(2'000, 'a') + "b", stars + "b"));
}

}  // namespace dtypecheck
