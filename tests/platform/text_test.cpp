#include "platform/text.h"

#include <catch2/catch.hpp>
#include <string>
#include <tuple>
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

TEST_CASE("numbers with a point are read as from_chars reads them") {
  const auto read = [](const std::string& text) {
    double number = -7;
    const auto [end, error] = read_number(text.data(), text.data() + text.size(), number);
    return std::tuple(number, end - text.data(), error);
  };
  const auto good = std::errc();
  CHECK(read("1.5e-3, 2") == std::tuple(1.5e-3, 6, good));
  CHECK(read("-0.25]") == std::tuple(-0.25, 5, good));
  CHECK(read("12") == std::tuple(12.0, 2, good));
  CHECK(read("0x10") == std::tuple(0.0, 1, good));
  CHECK(read("3-4") == std::tuple(3.0, 1, good));
  CHECK(std::get<0>(read("inf")) > 1e308);
  CHECK(read("5e-324") == std::tuple(5e-324, 6, good));
  CHECK(read("1e999") == std::tuple(-7.0, 5, std::errc::result_out_of_range));
  for (const char* text : {"", " 1", "+1", ".", "e5", "-"}) {
    CHECK(read(text) == std::tuple(-7.0, 0, std::errc::invalid_argument));
  }
  const std::string all = "123456";
  double number = 0;
  CHECK(read_number(all.data(), all.data() + 2, number).ptr == all.data() + 2);
  CHECK(number == 12);
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
TEST_CASE("a word is found where it is no part of a longer one") {
  CHECK(places_of_word("torch::kFloat16, kFloat", "kFloat") == std::vector<size_t>{17});
  CHECK(places_of_word("x.half() + y_half", ".half()") == std::vector<size_t>{1});
  CHECK(places_of_word("cond must be integral", "integral") == std::vector<size_t>{13});
  CHECK(places_of_word("integrals", "integral").empty());
  CHECK(places_of_word("anything", "").empty());
}

TEST_CASE("a glob of many stars is decided at once") {
  std::string stars;
  for (int i = 0; i < 40; ++i) stars += "*a";
  CHECK_FALSE(matches_glob(std::string(2'000, 'a'), stars + "b"));
  CHECK(matches_glob(std::string(2'000, 'a') + "b", stars + "b"));
}

}  // namespace dtypecheck
