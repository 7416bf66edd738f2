#include "platform/libtorch_version.h"

#include <fmt/format.h>

#include <charconv>

#include "platform/files.h"

namespace dtypecheck {

static constexpr size_t kHeaderLimitBytes = 1 << 20;

std::string Version::to_string() const { return fmt::format("{}.{}.{}", major, minor, patch); }

std::string Version::minor_name() const { return fmt::format("{}.{}", major, minor); }

// Takes the number off the front of the text.
static bool take_number(std::string_view& text, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() && number >= 0;
}

static bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

static std::optional<Version> take_minor(std::string_view& text) {
  Version version;
  const bool is_there =
      take_number(text, version.major) && take_dot(text) && take_number(text, version.minor);
  return is_there ? std::optional(version) : std::nullopt;
}

std::optional<Version> parse_version(std::string_view text) {
  auto version = take_minor(text);
  const bool is_whole = version && take_dot(text) && take_number(text, version->patch);
  return is_whole ? version : std::nullopt;
}

std::optional<Version> parse_minor(std::string_view text) { return take_minor(text); }

// `#define NAME 11`.
static bool read_define(std::string_view header, std::string_view name, int& number) {
  const size_t at = header.find(fmt::format("#define {} ", name));
  if (at == header.npos) return false;
  header.remove_prefix(at + name.size() + 9);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return take_number(header, number);
}

// Since 2.10 the numbers stand in torch/headeronly.
std::optional<Version> version_of_headers(const std::filesystem::path& include_folder) {
  for (const char* name :
       {"torch/headeronly/version.h", "torch/csrc/api/include/torch/version.h"}) {
    const auto header = read_file_if_any((include_folder / name).string(), kHeaderLimitBytes);
    Version version;
    if (header && read_define(*header, "TORCH_VERSION_MAJOR", version.major) &&
        read_define(*header, "TORCH_VERSION_MINOR", version.minor) &&
        read_define(*header, "TORCH_VERSION_PATCH", version.patch)) {
      return version;
    }
  }
  return std::nullopt;
}

int language_of_headers(const Version& libtorch) { return libtorch < Version{2, 14, 0} ? 17 : 20; }

}  // namespace dtypecheck
