#include "runtime/image.h"

#include <fmt/format.h>
#include <jpeglib.h>
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/text.h"

namespace dtypecheck::runtime {

static constexpr size_t kFileLimitBytes = size_t{1} << 30;
static constexpr uint64_t kMostPixels = uint64_t{1} << 28;

static void require_size(const std::string& path, uint64_t width, uint64_t height) {
  if (width == 0 || height == 0 || width > kMostPixels / height) {
    throw InputError(fmt::format("{}: {} x {} pixels, expected from 1 to {} in all", path, width,
                                 height, kMostPixels));
  }
}

// libjpeg reports errors by a jump; nothing with a destructor may be made between the two ends.
namespace {
struct JpegError {
  jpeg_error_mgr manager;
  std::jmp_buf jump;
  char text[JMSG_LENGTH_MAX];
};
}  // namespace

static void jump_out(j_common_ptr decoder) {
  auto* error = reinterpret_cast<JpegError*>(decoder->err);
  decoder->err->format_message(decoder, error->text);
  std::longjmp(error->jump, 1);
}

// Warnings are counted, not printed.
static void count_warnings(j_common_ptr decoder, int level) {
  if (level < 0) ++decoder->err->num_warnings;
}

static bool has_sane_size(const jpeg_decompress_struct& decoder) {
  return decoder.image_width > 0 && decoder.image_height > 0 &&
         decoder.image_width <= kMostPixels / decoder.image_height;
}

// False when libjpeg gave up, with its words in `error`; or when the size is none to decode.
static bool decode_jpeg(const std::string& bytes, jpeg_decompress_struct& decoder, JpegError& error,
                        Image& image) {
  if (setjmp(error.jump)) return false;
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&decoder, TRUE);
  if (!has_sane_size(decoder)) return false;
  decoder.out_color_space = JCS_RGB;
  image.width = decoder.image_width;
  image.height = decoder.image_height;
  const size_t row_bytes = size_t{decoder.image_width} * 3;
  image.rgb.reserve(row_bytes * decoder.image_height);
  jpeg_start_decompress(&decoder);
  while (decoder.output_scanline < decoder.output_height) {
    if (error.manager.num_warnings > 0) return true;  // what is missing would be painted grey
    image.rgb.resize(image.rgb.size() + row_bytes);
    JSAMPROW row = image.rgb.data() + image.rgb.size() - row_bytes;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  return true;
}

static Image read_jpeg(const std::string& path, const std::string& bytes) {
  Image image;
  JpegError error{};
  jpeg_decompress_struct decoder;
  decoder.err = jpeg_std_error(&error.manager);
  error.manager.error_exit = jump_out;
  error.manager.emit_message = count_warnings;
  jpeg_create_decompress(&decoder);
  const bool decoded = decode_jpeg(bytes, decoder, error, image);
  const uint64_t width = decoder.image_width, height = decoder.image_height;
  jpeg_destroy_decompress(&decoder);
  if (!decoded && error.text[0] == 0) require_size(path, width, height);
  if (!decoded) {
    throw InputError(fmt::format("{}: a JPEG that cannot be read: {}", path, error.text));
  }
  if (error.manager.num_warnings > 0) {
    throw InputError(fmt::format("{}: a JPEG that is damaged or cut off", path));
  }
  return image;
}

static Image read_png(const std::string& path, const std::string& bytes) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, bytes.data(), bytes.size())) {
    throw InputError(fmt::format("{}: a PNG that cannot be read: {}", path, png.message));
  }
  // With alpha: libpng would otherwise lay the image over a background, where PIL drops alpha.
  png.format = PNG_FORMAT_RGBA;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  if (png.width == 0 || png.height == 0 || png.width > kMostPixels / png.height) {
    const uint64_t width = png.width, height = png.height;
    png_image_free(&png);
    require_size(path, width, height);
  }
  std::vector<uint8_t> rgb(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, rgb.data(), 0, nullptr)) {
    throw InputError(fmt::format("{}: a PNG that cannot be read: {}", path, png.message));
  }
  for (size_t i = 1; i < rgb.size() / 4; ++i) std::copy_n(&rgb[4 * i], 3, &rgb[3 * i]);
  rgb.resize(rgb.size() / 4 * 3);
  return {png.width, png.height, std::move(rgb)};
}

Image read_image(const std::string& path) {
  const std::string bytes = read_file(path, kFileLimitBytes);
  if (bytes.starts_with("\xff\xd8\xff")) return read_jpeg(path, bytes);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return read_png(path, bytes);
  throw InputError(fmt::format("{}: is neither a JPEG nor a PNG", path));
}

void write_png(const std::string& path, const Image& image) {
  png_image png;
  std::memset(&png, 0, sizeof png);
  png.version = PNG_IMAGE_VERSION;
  png.format = PNG_FORMAT_RGB;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png_alloc_size_t size = 0;
  const auto write = [&](void* to) {
    if (png_image_write_to_memory(&png, to, &size, 0, image.rgb.data(), 0, nullptr)) return;
    throw InputError(fmt::format("{}: cannot be made a PNG: {}", path, png.message));
  };
  write(nullptr);
  std::string bytes(size, '\0');
  write(bytes.data());
  replace_file(path, {std::string_view(bytes).substr(0, size)});
}

bool has_image_name(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return false;
  const std::string ending = lowered(path.substr(dot + 1));
  return ending == "jpg" || ending == "jpeg" || ending == "png";
}

}  // namespace dtypecheck::runtime
