// libtorch_version.h: versions of LibTorch, as its files and its users write them.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace dtypecheck {

struct Version {
  int major = 0, minor = 0, patch = 0;

  std::string to_string() const;   // "2.11.0"
  std::string minor_name() const;  // "2.11"
  bool same_minor(const Version& other) const {
    return major == other.major && minor == other.minor;
  }
  auto operator<=>(const Version&) const = default;
};

// The leading numbers of "2.11.0", "2.11.0+cu130", "1.13.1a0"; nothing without all three.
std::optional<Version> parse_version(std::string_view text);

// The first two of them, with patch 0: what ends the name of a minor version, and its order.
std::optional<Version> parse_minor(std::string_view text);

// What torch/version.h below a folder of headers says.
std::optional<Version> version_of_headers(const std::filesystem::path& include_folder);

// The C++ that its headers need at least: 17, or 20 from 2.14 on. tracer/hook/CMakeLists.txt says
// it to CMake.
int language_of_headers(const Version& libtorch);

}  // namespace dtypecheck
