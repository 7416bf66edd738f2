// libtorch_info.h: what has to be known of an installed LibTorch to build something for it, read
// from its files alone.
#pragma once

#include <string>
#include <vector>

#include "platform/install_paths.h"
#include "platform/libtorch_version.h"

namespace dtypecheck {

struct LibTorchInfo {
  std::string library;  // libtorch_cpu.so
  Version version;
  std::string full_version;  // "2.6.0a0+ecf3bae40a.nv25.01"; of headers alone, their numbers
  int cxx11_abi = 1;         // _GLIBCXX_USE_CXX11_ABI
  std::vector<std::string> include_folders;  // empty when it came without headers
};

// A build of a state between releases ("2.6.0a0+git…", NVIDIA's containers) has the number of the
// next one and may differ from it in what a header says.
bool is_release(const LibTorchInfo& libtorch);

// Throws InputError when it is no LibTorch, or its version cannot be found.
LibTorchInfo inspect_libtorch(const std::string& library);

// One build serves all patch releases of a minor version; nullptr where none fits.
const PrebuiltHook* find_prebuilt_hook(const std::vector<PrebuiltHook>& hooks,
                                       const LibTorchInfo& libtorch);

}  // namespace dtypecheck
