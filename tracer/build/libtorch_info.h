// libtorch_info.h: what has to be known of an installed LibTorch to build something for it, read
// from its files alone.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck {

struct Version {
  int major = 0, minor = 0, patch = 0;

  std::string to_string() const;  // "2.11.0"
  bool same_minor(const Version& other) const {
    return major == other.major && minor == other.minor;
  }
  auto operator<=>(const Version&) const = default;
};

// "2.11.0", "2.11.0+cu130", "1.13.1a0": the three leading numbers. Throws InputError.
Version parse_version(const std::string& text, const std::string& where);

struct LibTorchInfo {
  std::string library;  // libtorch_cpu.so
  Version version;
  int cxx11_abi = 1;                         // _GLIBCXX_USE_CXX11_ABI
  std::vector<std::string> include_folders;  // empty when it came without headers
};

// Throws InputError when it is no LibTorch, or its version cannot be found.
LibTorchInfo inspect_libtorch(const std::string& library);

}  // namespace dtypecheck
