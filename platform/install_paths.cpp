#include "platform/install_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "platform/error.h"

namespace fs = std::filesystem;

namespace dtypecheck {

static constexpr const char* kSourceList = "tracer/hook/sources.txt";

std::string own_executable() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) throw InputError("/proc/self/exe: " + error.message() + "; mount /proc");
  return path.string();
}

std::string source_tree() { return DTYPECHECK_SOURCE_DIR; }

static fs::path prefix() { return fs::path(own_executable()).parent_path().parent_path(); }

static std::string library(const char* name) {
  const fs::path path = prefix() / "lib" / name;
  if (!fs::exists(path)) {
    throw InputError(fmt::format(
        "{}: does not exist; build or install dtypecheck again, with its tracer", path.string()));
  }
  return path.string();
}

std::string preload_library() { return library("libdtypecheck_preload.so"); }
std::string gpu_library() {
  const fs::path path = prefix() / "lib" / "libdtypecheck_gpu_recorder.so";
  return fs::exists(path) ? path.string() : "";
}
std::string pretended_folder() {
  const fs::path folder = prefix() / "libexec/dtypecheck/pretended";
  if (!fs::exists(folder / "libcuda.so.1"))
    throw InputError(
        fmt::format("{}: does not exist; build or install dtypecheck again, with its "
                    "pretended GPU",
                    folder.string()));
  return folder.string();
}
std::string replace_library() { return library("libdtypecheck_replace.so"); }

std::string preloadable(const std::string& library, const std::string& link_folder) {
  const auto splits = [](const std::string& path) {
    return path.find_first_of(": ") != std::string::npos;
  };
  if (!splits(library)) return library;
  const fs::path link = fs::path(link_folder) / fs::path(library).filename();
  std::error_code error;
  fs::remove(link, error);
  fs::create_symlink(library, link, error);
  if (!error && !splits(link.string())) return link.string();
  throw InputError(
      fmt::format("{}: LD_PRELOAD takes no path with a space or a colon; install dtypecheck "
                  "elsewhere, or set XDG_CACHE_HOME",
                  library));
}

static std::vector<PrebuiltHook> prebuilt_in(const char* list_name) {
  const fs::path folder = prefix() / "libexec/dtypecheck";
  std::ifstream list(folder / list_name);
  std::vector<PrebuiltHook> hooks;
  for (std::string line; std::getline(list, line);) {
    std::istringstream words(line);
    PrebuiltHook hook;
    std::string file;
    if (!(words >> hook.libtorch_version >> hook.cxx11_abi >> file)) continue;
    hook.path = (folder / file).string();
    if (fs::exists(hook.path)) hooks.push_back(hook);
  }
  return hooks;
}

std::vector<PrebuiltHook> prebuilt_hooks() { return prebuilt_in("hooks.txt"); }
std::vector<PrebuiltHook> prebuilt_operators() { return prebuilt_in("operators.txt"); }

std::string analyzer_cure() {
  if (fs::exists(prefix() / "__init__.py")) {
    return "the parser of C++ is in a wheel of its own, dtypecheck_lint-*.whl, beside this one";
  }
  return "this build has no analyzer: install libclang-19-dev, llvm-19-dev and clang-19 and build "
         "again";
}

std::string probe_script() {
  const fs::path installed = prefix() / "share/dtypecheck/probe/measure.py";
  const fs::path source = fs::path(source_tree()) / "rules/contracts/probe/measure.py";
  for (const fs::path& path : {installed, source}) {
    if (fs::exists(path)) return path.string();
  }
  throw InputError(fmt::format("{}: does not exist; install dtypecheck again", installed.string()));
}

static std::optional<HookSources> sources_in(const fs::path& root) {
  std::ifstream list(root / kSourceList);
  HookSources sources{.root = root.string(), .files = {}};
  for (std::string line; std::getline(list, line);) {
    if (!line.empty() && line[0] != '#') sources.files.push_back(line);
  }
  if (sources.files.empty()) return std::nullopt;
  return sources;
}

static fs::path installed_sources() { return prefix() / "share/dtypecheck/src"; }

std::optional<HookSources> hook_sources() {
  const auto installed = sources_in(installed_sources());
  return installed ? installed : sources_in(source_tree());
}

std::optional<HookSources> operators_sources() {
  const fs::path kernels = prefix() / "lib/libdtypecheck_kernels.so";
  if (!fs::exists(kernels)) return std::nullopt;
  for (const fs::path& root : {installed_sources(), fs::path(source_tree())}) {
    if (!fs::exists(root / "kernels/torch/all.cpp")) continue;
    return HookSources{.root = root.string(),
                       .files = {"kernels/torch/all.cpp"},
                       .name = "the operators",
                       .library = kernels.string(),
                       .needs_cxx20 = true};
  }
  return std::nullopt;
}

std::optional<HookSources> cuda_kernels_sources() {
  std::optional<HookSources> sources = operators_sources();
  if (!sources) return std::nullopt;
  sources->files.clear();
  sources->name = "the kernels for a GPU";
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(sources->root) / "kernels"))
    if (entry.path().extension() == ".cu") sources->files.push_back(entry.path().string());
  std::sort(sources->files.begin(), sources->files.end());
  return sources->files.empty() ? std::nullopt : sources;
}

std::string cuda_kernels_library() {
  const fs::path library = prefix() / "lib/libdtypecheck_kernels_cuda.so";
  return fs::exists(library) ? library.string() : "";
}

}  // namespace dtypecheck
