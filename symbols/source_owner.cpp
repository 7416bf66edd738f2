#include "symbols/source_owner.h"

#include <algorithm>

#include "core/installed.h"

namespace dtypecheck::symbols {

bool is_library_source(std::string_view path) {
  // Whole folder names: /home/me/torch/train.cpp is the user's.
  static constexpr std::string_view kFolders[] = {
      "/usr/include/",  "/usr/lib/",       "/usr/local/cuda",  "/include/c++/",
      "/lib/gcc/",      "/lib/clang/",     "/libstdc++-v3/",   "/include/torch/",
      "/include/ATen/", "/include/c10/",   "/include/caffe2/", "/torch/include/",
      "/torch/csrc/",   "/aten/src/ATen/", "/pytorch/c10/",    "/include/pybind11/",
  };
  return is_installed(path) || std::ranges::any_of(kFolders, [path](std::string_view folder) {
           return path.find(folder) != std::string_view::npos;
         });
}

}  // namespace dtypecheck::symbols
