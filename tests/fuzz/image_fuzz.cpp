// Any bytes are an image or an InputError, and an image has the pixels that its size says.
#include "runtime/image.h"
#include "target.h"

namespace dtypecheck::fuzz {

void test_input(std::string_view input) {
  const GivenFile given(input);
  const runtime::Image image = runtime::read_image(given.path());
  require(image.width > 0 && image.height > 0);
  require(image.rgb.size() == static_cast<size_t>(image.width * image.height * 3));
}

}  // namespace dtypecheck::fuzz
