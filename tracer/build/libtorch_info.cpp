#include "tracer/build/libtorch_info.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <regex>

#include "platform/elf_file.h"
#include "platform/error.h"
#include "platform/files.h"

namespace fs = std::filesystem;

namespace dtypecheck {

static constexpr const char* kApiInclude = "torch/csrc/api/include";

static Version version_in(const std::string& text, const std::string& where) {
  if (const auto version = parse_version(text)) return *version;
  throw InputError(
      fmt::format("{}: no version such as 2.11.0 in it, but '{}'", where, text.substr(0, 40)));
}

struct StatedVersion {
  std::string text;
  Version version;
};

// version.py of a wheel, build-version of an archive: both stand above lib/.
static std::optional<StatedVersion> version_beside(const fs::path& lib_folder) {
  const fs::path root = lib_folder.parent_path();
  if (const auto text = read_file_if_any(root / "version.py")) {
    std::smatch match;
    if (std::regex_search(*text, match, std::regex("__version__ = '([^']*)'"))) {
      return StatedVersion{match[1], version_in(match[1], (root / "version.py").string())};
    }
  }
  if (const auto text = read_file_if_any(root / "build-version")) {
    return StatedVersion{*text, version_in(*text, (root / "build-version").string())};
  }
  return std::nullopt;
}

// A wheel or an archive has lib/ beside include/; Debian has /usr/lib/<machine> and /usr/include.
static std::vector<std::string> find_headers(const fs::path& lib_folder) {
  for (const fs::path& base : {lib_folder.parent_path(), lib_folder.parent_path().parent_path()}) {
    const fs::path include = base / "include";
    std::error_code error;
    if (fs::exists(include / kApiInclude / "torch/version.h", error)) {
      return {include.string(), (include / kApiInclude).string()};
    }
  }
  return {};
}

// A std::string in the signature of a function of LibTorch's own tells. That the name __cxx11
// occurs says nothing: libstdc++'s regex is in it under either ABI.
static int find_abi(const std::string& library) {
  const auto elf = ElfFile::open(library);
  const std::string_view names = elf ? elf->dynamic_names() : std::string_view();
  if (names.find("getStepCallbacksUnlessEmpty") == names.npos) {
    throw InputError(fmt::format(
        "{}: is no libtorch_cpu.so of LibTorch 1.13 or later; give the one that the program loads",
        library));
  }
  const std::string_view new_string = "NSt7__cxx1112basic_string";
  for (size_t at = names.find(new_string); at != names.npos; at = names.find(new_string, at + 1)) {
    const size_t begin = names.rfind('\0', at) + 1;
    const std::string_view name = names.substr(begin, at - begin);
    for (const char* own :
         {"_ZN2at", "_ZN3c10", "_ZN5torch", "_ZNK2at", "_ZNK3c10", "_ZNK5torch"}) {
      if (name.starts_with(own)) return 1;
    }
  }
  return 0;
}

bool is_release(const LibTorchInfo& libtorch) {
  static const std::regex release(R"(\s*\d+\.\d+\.\d+(\.post\d+)?(\+\S*)?\s*)");
  return std::regex_match(libtorch.full_version, release);
}

LibTorchInfo inspect_libtorch(const std::string& library) {
  std::error_code error;
  const fs::path path = fs::canonical(library, error);
  if (error)
    throw InputError(
        fmt::format("{}: {}; give the path of libtorch_cpu.so", library, error.message()));
  LibTorchInfo info{.library = path.string(), .cxx11_abi = find_abi(path.string())};
  info.include_folders = find_headers(path.parent_path());
  const auto stated = version_beside(path.parent_path());
  const auto of_headers =
      info.include_folders.empty() ? std::nullopt : version_of_headers(info.include_folders[0]);
  if (!stated && !of_headers) {
    throw InputError(fmt::format(
        "{}: its version is in no version.py, build-version or torch/version.h near it; install "
        "LibTorch with its headers",
        library));
  }
  // Headers of another LibTorch that happens to lie near would compile, and crash.
  if (stated && of_headers && !stated->version.same_minor(*of_headers))
    info.include_folders.clear();
  info.version = stated ? stated->version : *of_headers;
  info.full_version = stated ? stated->text : of_headers->to_string();
  return info;
}

const PrebuiltHook* find_prebuilt_hook(const std::vector<PrebuiltHook>& hooks,
                                       const LibTorchInfo& libtorch) {
  if (!is_release(libtorch)) return nullptr;
  for (const PrebuiltHook& hook : hooks) {
    const auto version = parse_version(hook.libtorch_version);
    const bool fits = version && version->same_minor(libtorch.version);
    if (fits && hook.cxx11_abi == libtorch.cxx11_abi) return &hook;
  }
  return nullptr;
}

}  // namespace dtypecheck
