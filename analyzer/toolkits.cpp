// toolkits.cpp: finds the headers of LibTorch, Python and CUDA without running anything.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "analyzer/compile_command.h"
#include "platform/error.h"
#include "platform/files.h"
#include "platform/libtorch_version.h"
#include "platform/program.h"

namespace fs = std::filesystem;

namespace dtypecheck::analyzer {

// The headers below a LibTorch, a site-packages/torch or an include folder itself.
static std::optional<fs::path> torch_include(const fs::path& root) {
  for (const char* below : {"include", ".", "torch/include"}) {
    const fs::path include = (root / below).lexically_normal();
    if (is_there(include / "ATen/core/Tensor.h") || is_there(include / "ATen/core/TensorBody.h")) {
      return include;
    }
  }
  return std::nullopt;
}

// lib/python3.*/{site,dist}-packages/torch of an environment.
static std::optional<fs::path> torch_in_environment(const fs::path& prefix) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", none)) {
    if (!entry.path().filename().string().starts_with("python3")) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      if (const auto include = torch_include(entry.path() / packages / "torch")) return include;
    }
  }
  return std::nullopt;
}

static fs::path active_python() {
  try {
    return find_program("python3");
  } catch (const InputError&) {
    return {};
  }
}

static std::optional<fs::path> find_torch(const fs::path& from) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* prefix = std::getenv(name);
    if (prefix == nullptr) continue;
    if (const auto include = torch_in_environment(prefix)) return include;
  }
  std::error_code unknown;
  for (fs::path folder = fs::absolute(from, unknown);; folder = folder.parent_path()) {
    if (const auto include = torch_in_environment(folder / ".venv")) return include;
    if (folder == folder.parent_path()) break;
  }
  const fs::path python = active_python();
  if (!python.empty()) {
    const fs::path prefix = python.parent_path().parent_path();
    if (const auto include = torch_in_environment(prefix)) return include;
  }
  return torch_include("/usr");
}

// Python.h for torch/extension.h: the interpreter's own headers.
static void add_python(std::vector<std::string>& includes) {
  std::error_code none;
  for (const char* prefix : {"/usr/include", "/usr/local/include"}) {
    for (const auto& entry : fs::directory_iterator(prefix, none)) {
      if (entry.path().filename().string().starts_with("python3") &&
          is_there(entry.path() / "Python.h")) {
        includes.push_back(entry.path().string());
        return;
      }
    }
  }
}

static std::string find_cuda() {
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(name);
    if (root != nullptr && is_there(fs::path(root) / "include/cuda_runtime.h")) return root;
  }
  // Without crt/ the compiler's own headers are missing: a runtime without its toolkit.
  const fs::path usual = "/usr/local/cuda";
  const bool whole = is_there(usual / "include/cuda_runtime.h") && is_there(usual / "include/crt");
  return whole ? usual.string() : "";
}

// site-packages/nvidia/*/include beside site-packages/torch/include: cuDNN, NCCL, cuBLAS.
static std::vector<std::string> vendor_includes(const fs::path& torch_include) {
  std::vector<std::string> found;
  std::error_code none;
  const fs::path packages = torch_include.parent_path().parent_path() / "nvidia";
  for (const auto& entry : fs::directory_iterator(packages, none)) {
    if (is_there(entry.path() / "include")) found.push_back((entry.path() / "include").string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Toolkits bundled_toolkits() { return {}; }

Toolkits find_toolkits(const std::string& torch, const fs::path& from) {
  auto include = torch.empty() ? find_torch(from) : torch_include(torch);
  if (!include && !torch.empty()) include = torch_in_environment(torch);
  if (!include) {
    if (torch.empty()) return {};
    throw InputError(fmt::format(
        "{}: no LibTorch in it; expected include/ATen, as in libtorch/ or site-packages/torch",
        torch));
  }
  Toolkits found;
  found.torch_root = include->string();
  if (const auto version = version_of_headers(*include)) {
    found.torch_version = version->to_string();
  }
  // The system's own folder is looked into last as it is: named, it would come before the
  // compiler's.
  if (*include != "/usr/include") found.torch_includes.push_back(include->string());
  found.torch_includes.push_back((*include / "torch/csrc/api/include").string());
  add_python(found.torch_includes);
  found.cuda_root = find_cuda();
  if (!found.cuda_root.empty()) found.vendor_includes = vendor_includes(*include);
  return found;
}

}  // namespace dtypecheck::analyzer
