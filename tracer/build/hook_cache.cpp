#include "tracer/build/hook_cache.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "platform/hash.h"
#include "platform/install_paths.h"
#include "platform/version.h"

namespace fs = std::filesystem;

namespace dtypecheck {

// All that lies in the folders that are installed for build-hook, since stage 2's sources include
// headers and each other.
static uint64_t hash_of_sources(const HookSources& sources) {
  std::vector<fs::path> files;
  for (const char* folder : {"core", "ops", "platform", "trace", "tracer"}) {
    std::error_code none;
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(sources.root) / folder, none)) {
      if (entry.is_regular_file(none)) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  uint64_t hash = fnv1a("");
  for (const fs::path& path : files) {
    std::ifstream file(path, std::ios::binary);
    hash = fnv1a_next(path.filename().string(), hash);
    hash = fnv1a_next(std::string(std::istreambuf_iterator<char>(file), {}), hash);
  }
  return hash;
}

// By size and time: the libraries are megabytes, and this is paid at every run.
static std::string mark_of(const PrebuiltHook& hook) {
  struct stat info{};
  if (::stat(hook.path.c_str(), &info) != 0) return "";
  return fmt::format("{}:{}:{}:{}.{}", hook.path, hook.libtorch_version, info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

static std::string cache_key() {
  const auto sources = hook_sources();
  uint64_t hash = sources ? hash_of_sources(*sources) : fnv1a("");
  for (const PrebuiltHook& hook : prebuilt_hooks()) hash = fnv1a_next(mark_of(hook), hash);
  return fmt::format("{}-{:016x}", tool_version(), hash);
}

static fs::path home() {
  const char* home = std::getenv("HOME");
  if (home && home[0] == '/') return home;
  const passwd* user = ::getpwuid(::geteuid());
  return user && user->pw_dir ? user->pw_dir : "";
}

// The standard says that a relative XDG_CACHE_HOME is to be ignored.
static fs::path cache_root() {
  const char* xdg = std::getenv("XDG_CACHE_HOME");
  if (xdg && xdg[0] == '/') return fs::path(xdg) / "dtypecheck";
  return home() / ".cache/dtypecheck";
}

static std::string why_unusable(const fs::path& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return std::strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "is not a folder";
  if (info.st_uid != ::geteuid()) return "belongs to another user";
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return "others can write it; cure: chmod go-w";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return std::strerror(errno);
  return "";
}

static bool make_private(const fs::path& folder, std::string* why_not) {
  std::error_code error;
  fs::create_directories(folder.parent_path().parent_path(), error);
  ::mkdir(folder.parent_path().c_str(), 0700);
  ::mkdir(folder.c_str(), 0700);
  for (const fs::path& part : {folder.parent_path(), folder}) {
    const std::string why = why_unusable(part);
    if (why.empty()) continue;
    *why_not = fmt::format("{}: {}", part.string(), why);
    return false;
  }
  return true;
}

std::string hook_cache(const std::string& fallback, std::string* why_not) {
  const fs::path cache = cache_root() / cache_key();
  if (make_private(cache, why_not)) return cache.string();
  const fs::path in_run = fs::path(fallback) / "hooks";
  ::mkdir(in_run.c_str(), 0700);
  return in_run.string();
}

}  // namespace dtypecheck
