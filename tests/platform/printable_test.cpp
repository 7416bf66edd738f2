#include "platform/printable.h"

#include <catch2/catch.hpp>

namespace dtypecheck::reports {

TEST_CASE("printable text is left alone") {
  for (const char* text :
       {"", "train.py:1065", "mat1 and mat2 must…", "größer als 1e-8", "数据类型", "😀"}) {
    CHECK(printable(text) == text);
  }
}

TEST_CASE("what acts on a terminal becomes visible") {
  CHECK(printable("\x1b[2J") == "\\x1b[2J");
  CHECK(printable("a\r\nb\tc") == "a\\x0d\\nb c");
  CHECK(printable("\xc2\x9b"
                  "31m") == "\\u009b31m");  // CSI as one C1 character
  CHECK(printable("\x7f\x08") == "\\x7f\\x08");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\x00b");
}

TEST_CASE("what changes the reading order or hides becomes visible") {
  CHECK(printable("\xe2\x80\xaegnp.exe") == "\\u202egnp.exe");
  CHECK(printable("\xe2\x81\xa6\xe2\x80\x8b\xef\xbb\xbf") == "\\u2066\\u200b\\ufeff");
  CHECK(printable("\xf3\xa0\x81\x81") == "\\ue0041");
}

TEST_CASE("bytes that are no UTF-8 are shown one by one") {
  CHECK(printable("\xff\xfe") == "\\xff\\xfe");
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");                    // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // surrogate
  CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");                    // cut short
}

TEST_CASE("every byte pair gives text without control characters") {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const char bytes[] = {static_cast<char>(a), static_cast<char>(b)};
      const std::string text = printable({bytes, 2});
      for (const char c : text) REQUIRE((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
      REQUIRE(printable(text) == text);
    }
  }
}

TEST_CASE("lines are split, and each is printable") {
  using Lines = std::vector<std::string>;
  CHECK(printable_lines("") == Lines{});
  CHECK(printable_lines("a\n\x1b\n") == Lines{"a", "\\x1b"});
  CHECK(printable_lines("a\n\nb") == Lines{"a", "", "b"});
}

TEST_CASE("widths are those of a terminal") {
  CHECK(display_width("mat1") == 4);
  CHECK(display_width("größer…") == 7);
  CHECK(display_width("数据") == 4);
  CHECK(display_width("e\xcc\x81") == 1);  // e with a combining accent
  CHECK(display_width("🚀") == 2);
  CHECK(display_width("\xe0\xb8\x81\xe0\xb8\xb4") == 1);  // a Thai letter, its vowel above it
}

TEST_CASE("text is made to fit") {
  CHECK(shorten("unet.conv_in.weight", 19) == "unet.conv_in.weight");
  CHECK(shorten("unet.conv_in.weight", 11) == "unet.…eight");
  CHECK(cut("unet.conv_in.weight", 6) == "unet.…");
  CHECK(shorten("数据类型", 5) == "数…型");
  CHECK(shorten("abc", 0).empty());
  CHECK(cut("abc", 0).empty());
  CHECK(pad("Half", 6) == "Half  ");
  CHECK(pad("Float", 3) == "Float");
}

TEST_CASE("a path that is too long loses folders, not the file's name") {
  CHECK(shorten_path("csrc/a.cu:3", 11, 20) == "csrc/a.cu:3");
  CHECK(shorten_path("csrc/cuda/fps.cu:12", 18, 20) == "…/cuda/fps.cu:12");
  CHECK(shorten_path("csrc/cuda/fps.cu:12", 12, 20) == "…/fps.cu:12");
  CHECK(shorten_path("csrc/cuda/furthest_point.cu:12", 12, 20) == "furthest_point.cu:12");
  CHECK(shorten_path("csrc/cuda/furthest_point.cu:12", 12, 13) == "furthe….cu:12");
  CHECK(shorten_path("a_long_name_of_a_script.py:12", 12, 12) == "a_lon….py:12");
  CHECK(shorten_path("目录/数据.cu:1", 11, 11) == "…/数据.cu:1");
}

TEST_CASE("text is wrapped at spaces, and in a word when it must be") {
  using Lines = std::vector<std::string>;
  CHECK(wrap("", 10) == Lines{""});
  CHECK(wrap("one two three", 8) == Lines{"one two", "three"});
  CHECK(wrap("onetwothree", 4) == Lines{"onet", "woth", "ree"});
  CHECK(wrap("at src/models/unet.py:41 in f", 10) == Lines{"at", "src/models/unet.py:41", "in f"});
  CHECK(wrap("unet.down_blocks.0", 4) == Lines{"unet.down_blocks.0"});
  CHECK(wrap(std::string(500, '/'), 400).size() == 2);
  CHECK(wrap("数据类型", 3) == Lines{"数", "据", "类", "型"});
  CHECK(wrap("数", 1).size() >= 1);  // wider than the line: still ends
}

}  // namespace dtypecheck::reports
