// Images are read whole or not at all.
#include "runtime/image.h"

#include <catch2/catch.hpp>

#include "platform/error.h"
#include "tests/files.h"

namespace dtypecheck::runtime {

static const std::string kImages = DTYPECHECK_SOURCE_DIR "/tests/fuzz/corpus/image/";

TEST_CASE("pixels of either format, without alpha") {
  const Image png = read_image(kImages + "rgb.png");
  CHECK(png.width == 3);
  CHECK(png.height == 2);
  const std::vector<uint8_t> pixel = {1, 200, 30};
  for (size_t i = 0; i < 6; ++i)
    CHECK(std::vector<uint8_t>(&png.rgb[3 * i], &png.rgb[3 * i] + 3) == pixel);
  CHECK(png.rgb.size() == 18);
  CHECK(read_image(kImages + "alpha.png").rgb ==
        std::vector<uint8_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  CHECK(read_image(kImages + "grey.jpg").rgb == std::vector<uint8_t>(18, 128));
}

TEST_CASE("an image that is cut off is refused") {
  const test::TemporaryFolder folder;
  for (const char* name : {"rgb.png", "rgb.jpg", "progressive.jpg"}) {
    INFO(name);
    const std::string bytes = test::read_bytes(kImages + name);
    const std::string path = folder.write(name, bytes.substr(0, bytes.size() - 30));
    CHECK_THROWS_AS(read_image(path), InputError);
  }
}

}  // namespace dtypecheck::runtime
