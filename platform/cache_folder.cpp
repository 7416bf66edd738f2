#include "platform/cache_folder.h"

#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace fs = std::filesystem;

namespace dtypecheck {

static fs::path absolute_folder(const char* path) {
  return path != nullptr && path[0] == '/' ? path : "";
}

static fs::path home() {
  const fs::path home = absolute_folder(std::getenv("HOME"));
  if (!home.empty()) return home;
  const passwd* user = ::getpwuid(::geteuid());
  return absolute_folder(user != nullptr ? user->pw_dir : nullptr);
}

fs::path cache_root() {
  const fs::path cache = absolute_folder(std::getenv("XDG_CACHE_HOME"));
  if (!cache.empty()) return cache / "dtypecheck";
  const fs::path folder = home();
  return folder.empty() ? folder : folder / ".cache/dtypecheck";
}

// `error` is why it, or what it lies in, could not be made.
static std::string why_not_trusted(const fs::path& folder, const std::error_code& error) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0) return error ? error.message() : std::strerror(errno);
  if (!S_ISDIR(info.st_mode)) return "is not a folder";
  if (info.st_uid != ::geteuid()) return "belongs to another user";
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return "others can write it; cure: chmod go-w";
  return "";
}

std::string make_cache_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path().parent_path(), error);
  for (const fs::path& part : {folder.parent_path(), folder}) {
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && !error)
      error.assign(errno, std::generic_category());
    const std::string why = why_not_trusted(part, error);
    if (!why.empty()) return fmt::format("{}: {}", part.string(), why);
  }
  return "";
}

}  // namespace dtypecheck
