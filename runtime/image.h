// image.h: JPEG and PNG files to pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtypecheck::runtime {

struct Image {
  int64_t width = 0, height = 0;
  std::vector<uint8_t> rgb;  // height x width x 3
};

// The format is known by the first bytes, not by the name. Alpha is dropped, grey becomes RGB.
// Throws InputError when it is neither format, damaged, or has more than 2^28 pixels.
Image read_image(const std::string& path);

// As PNG, written aside and moved into place. Throws InputError.
void write_png(const std::string& path, const Image& image);

// What may be an image, by its name's ending: .jpg, .jpeg, .png, in any case.
bool has_image_name(const std::string& path);

}  // namespace dtypecheck::runtime
