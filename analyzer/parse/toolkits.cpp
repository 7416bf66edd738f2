// toolkits.cpp: finds the headers of LibTorch, Python and CUDA without running anything.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "analyzer/parse/compile_command.h"
#include "core/installed.h"
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
    for (const std::string_view packages : kPackageFolders) {
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
    return torch_in_environment(prefix);
  }
  return std::nullopt;
}

// The LibTorch that the build gives its compiler.
static std::optional<fs::path> torch_of(const CompileCommand& command) {
  const std::vector<std::string>& all = command.arguments;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool is_next = (all[i] == "-I" || all[i] == "-isystem") && i + 1 < all.size();
    const std::string folder = is_next                    ? all[i + 1]
                               : all[i].starts_with("-I") ? all[i].substr(2)
                                                          : "";
    if (folder.empty()) continue;
    fs::path include = (fs::path(command.directory) / folder).lexically_normal();
    // The folder that a LibTorch in the compiler's own folders is known by.
    constexpr std::string_view kApi = "/torch/csrc/api/include";
    const std::string name = include.string();
    if (name.ends_with(kApi)) include = name.substr(0, name.size() - kApi.size());
    if (is_there(include / "ATen/core/Tensor.h")) return include;
  }
  return std::nullopt;
}

static std::string version_in(const fs::path& include) {
  const auto version = version_of_headers(include);
  return version ? version->to_string() : "";
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
  std::ranges::sort(found);
  return found;
}

static Toolkits bundled_for(std::string why) {
  Toolkits none;
  none.why_bundled = std::move(why);
  return none;
}

Toolkits bundled_toolkits() { return bundled_for("--torch bundled was given"); }

static Toolkits without_torch() {
  const auto system = torch_include("/usr");
  if (!system) return bundled_for("no LibTorch was found");
  return bundled_for(
      fmt::format("LibTorch {} of {} is the system's, and the build does not name it",
                  version_in(*system), system->string()));
}

Toolkits find_toolkits(const std::string& torch, const fs::path& from,
                       const CompileCommand* command) {
  std::optional<fs::path> include;
  if (!torch.empty()) {
    include = torch_include(torch);
    if (!include) include = torch_in_environment(torch);
  } else {
    if (command != nullptr) include = torch_of(*command);
    if (!include) include = find_torch(from);
  }
  if (!include) {
    if (torch.empty()) return without_torch();
    throw InputError(fmt::format(
        "{}: no LibTorch in it; expected include/ATen, as in libtorch/ or site-packages/torch",
        torch));
  }
  Toolkits found;
  found.torch_root = include->string();
  found.torch_version = version_in(*include);
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
