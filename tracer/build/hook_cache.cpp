#include "tracer/build/hook_cache.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "platform/cache_folder.h"
#include "platform/files.h"
#include "platform/hash.h"
#include "platform/install_paths.h"
#include "platform/text.h"
#include "platform/version.h"

namespace fs = std::filesystem;

namespace dtypecheck {

// All that lies in the folders that are installed for build-hook, since stage 2's sources include
// headers and each other.
static uint64_t hash_of_sources(const HookSources& sources,
                                std::initializer_list<const char*> folders) {
  std::vector<fs::path> files;
  for (const char* folder : folders) {
    std::error_code none;
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(sources.root) / folder, none)) {
      if (entry.is_regular_file(none)) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  uint64_t hash = fnv1a("");
  for (const fs::path& path : files) {
    hash = fnv1a_next(path.filename().string(), hash);
    hash = fnv1a_next(read_file_if_any(path.string()).value_or(""), hash);
  }
  return hash;
}

// By size and time: the libraries are megabytes, and this is paid at every run.
static std::string mark_of(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return "";
  return fmt::format("{}:{}:{}.{}", path, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

static std::string cache_key() {
  const auto sources = hook_sources();
  uint64_t hash = sources ? hash_of_sources(*sources, {DTYPECHECK_HOOK_FOLDERS}) : fnv1a("");
  for (const PrebuiltHook& hook : prebuilt_hooks())
    hash = fnv1a_next(mark_of(hook.path) + hook.libtorch_version, hash);
  return fmt::format("{}-{}", tool_version(), hash_text(hash));
}

static std::string why_not_writable(const fs::path& folder) {
  if (::access(folder.c_str(), W_OK | X_OK) == 0) return "";
  return fmt::format("{}: {}", folder.string(), std::strerror(errno));
}

std::string hook_cache(const std::string& fallback, std::string* why_not) {
  const fs::path root = cache_root(), cache = root / cache_key();
  *why_not = root.empty() ? "there is no home folder" : make_cache_folder(cache);
  if (why_not->empty()) *why_not = why_not_writable(cache);
  if (why_not->empty()) return cache.string();
  const fs::path in_run = fs::path(fallback) / "hooks";
  ::mkdir(in_run.c_str(), 0700);
  return in_run.string();
}

std::string hook_name(const std::string& libtorch) {
  std::error_code error;
  const std::string path = fs::canonical(libtorch, error).string();
  struct stat info{};
  if (error || ::stat(path.c_str(), &info) != 0) return "";
  const int64_t mtime_ns = int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec;
  return hash_text(fnv1a(fmt::format("{}:{}:{}", path, info.st_size, mtime_ns)));
}

std::string cuda_kernels_name(const HookSources& sources) {
  const uint64_t hash = hash_of_sources(sources, {"kernels", "core", "platform"});
  return "kernels-cuda-" + hash_text(fnv1a_next(mark_of(sources.library), hash)) + ".so";
}

std::string operators_name(const HookSources& sources, const std::string& libtorch) {
  const uint64_t hash = hash_of_sources(sources, {"kernels"});
  return "operators-" +
         hash_text(fnv1a_next(mark_of(libtorch), fnv1a_next(mark_of(sources.library), hash))) +
         ".so";
}

}  // namespace dtypecheck
