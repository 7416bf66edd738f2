// libtorch_info.h: what has to be known of an installed LibTorch to build something for it, read
// from its files alone.
#pragma once

#include <string>
#include <vector>

#include "platform/libtorch_version.h"

namespace dtypecheck {

struct LibTorchInfo {
  std::string library;  // libtorch_cpu.so
  Version version;
  int cxx11_abi = 1;                         // _GLIBCXX_USE_CXX11_ABI
  std::vector<std::string> include_folders;  // empty when it came without headers
};

// Throws InputError when it is no LibTorch, or its version cannot be found.
LibTorchInfo inspect_libtorch(const std::string& library);

}  // namespace dtypecheck
