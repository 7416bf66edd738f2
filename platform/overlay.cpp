#include "platform/overlay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "platform/files.h"

namespace fs = std::filesystem;

namespace dtypecheck {
namespace {

std::string failed(const std::string& what) {
  return fmt::format("{}: {}", what, std::strerror(errno));
}

bool write_text(const char* path, const std::string& text) {
  Descriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file >= 0 && ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The user stays who they are: user and group are mapped to themselves, and no others are.
std::string enter_namespaces() {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return failed("this system grants no user namespace");
  write_text("/proc/self/setgroups", "deny");  // old kernels have no such file
  const bool is_mapped = write_text("/proc/self/uid_map", fmt::format("{0} {0} 1\n", user)) &&
                         write_text("/proc/self/gid_map", fmt::format("{0} {0} 1\n", group));
  if (!is_mapped) return failed("the user could not be mapped into a user namespace");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return failed("mounts could not be made private");
  return "";
}

// Commas and colons part the options of overlayfs, and a backslash keeps them.
std::string escaped(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c == ',' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string cover(const std::string& folder, const std::string& scratch, size_t number) {
  const std::string upper = fmt::format("{}/{}", scratch, number), work = upper + ".work";
  struct stat its{};
  if (::mkdir(upper.c_str(), 0777) != 0 || ::mkdir(work.c_str(), 0700) != 0) return failed(upper);
  if (::stat(folder.c_str(), &its) == 0) ::chmod(upper.c_str(), its.st_mode & 07777);
  const std::string options = fmt::format("lowerdir={},upperdir={},workdir={}", escaped(folder),
                                          escaped(upper), escaped(work));
  // Whoever removes a folder marks that in an attribute, of the user's kind in a user namespace.
  // Linux before 5.11 knows no such, and removes none.
  const bool is_mounted =
      ::mount("overlay", folder.c_str(), "overlay", 0, (options + ",userxattr").c_str()) == 0 ||
      ::mount("overlay", folder.c_str(), "overlay", 0, options.c_str()) == 0;
  if (!is_mounted) return failed(fmt::format("no overlay could be mounted over {}", folder));
  return "";
}

bool is_below(const std::string& path, const std::string& folder) {
  const std::string end = folder.ends_with('/') ? folder : folder + "/";
  return path == folder || path.starts_with(end);
}

enum class As { kNeeded, kWherePossible, kKept };
struct OverlaidFolder {
  As as;
  Descriptor original;  // of what is kept: it is put back at its path
};
using Folders = std::multimap<std::string, OverlaidFolder>;  // what lies around another goes first

// Why one of the folders is not there, or "".
std::string add(const std::vector<std::string>& folders, As as, Folders& places) {
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::string whole = fs::canonical(folder, error).string();
    if (error) return fmt::format("{}: {}", folder, error.message());
    Descriptor original(as == As::kKept ? ::open(whole.c_str(), O_PATH | O_CLOEXEC) : -1);
    if (as == As::kKept && original < 0) return failed(folder);
    places.emplace(whole, OverlaidFolder{as, std::move(original)});
  }
  return "";
}

std::string put_back(const std::string& path, const OverlaidFolder& place) {
  const std::string source = fmt::format("/proc/self/fd/{}", static_cast<int>(place.original));
  if (::mount(source.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0) return "";
  return failed(fmt::format("{} could not be kept as it is", path));
}

// mount_setattr(2), which the C library has since 2.36.
std::string set_read_only(const char* path, bool is_read_only, unsigned flags) {
  constexpr long kMountSetattr = 442;
  struct {
    uint64_t set, clear, propagation, user_namespace;
  } attributes{};
  (is_read_only ? attributes.set : attributes.clear) = 1;  // MOUNT_ATTR_RDONLY
  if (::syscall(kMountSetattr, AT_FDCWD, path, flags, &attributes, sizeof attributes) == 0)
    return "";
  return failed(
      fmt::format("{} could not be made {}", path, is_read_only ? "read-only" : "writable"));
}

std::string seal(const std::vector<std::string>& written) {
  constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
  std::string problem = set_read_only("/", true, kRecursive);
  for (const char* open : {"/dev", "/proc"})
    if (problem.empty()) problem = set_read_only(open, false, kRecursive);
  for (const std::string& path : written)
    if (problem.empty()) problem = set_read_only(path.c_str(), false, 0);
  return problem;
}

}  // namespace

std::string cover_folders(const Covering& covering) {
  std::error_code unknown;
  const fs::path here = fs::current_path(unknown);
  std::string problem = enter_namespaces();
  Folders places;
  if (problem.empty()) problem = add(covering.folders, As::kNeeded, places);
  if (problem.empty()) problem = add(covering.others, As::kWherePossible, places);
  if (problem.empty()) problem = add(covering.kept, As::kKept, places);
  std::vector<std::string> written;
  size_t number = 0;
  for (const auto& [path, place] : places) {
    if (!problem.empty()) return problem;
    const bool is_inside = std::any_of(written.begin(), written.end(), [&path](const auto& around) {
      return is_below(path, around);
    });
    if (place.as == As::kKept) {
      problem = put_back(path, place);
    } else if (is_inside) {
      continue;
    } else if (std::string why = cover(path, covering.scratch, number++); !why.empty()) {
      if (place.as == As::kNeeded) problem = why;
      continue;  // another file system below it is in the way, perhaps
    }
    written.push_back(path);
  }
  if (problem.empty() && covering.seals) problem = seal(written);
  if (problem.empty() && ::chdir(here.c_str()) != 0) problem = failed(here.string());
  return problem;  // in the covered folder
}

// A folder of overlayfs' own, and what a program made, may be closed to its owner.
void remove_scratch(const std::string& scratch) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(scratch, error), end; !error && at != end;
       at.increment(error))
    if (at->is_directory(error) && !at->is_symlink(error))
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
  fs::remove_all(scratch, error);
}

std::string scratch_beside(const std::vector<std::string>& folders, const std::string& preferred) {
  const char* chosen = ::getenv("TMPDIR");
  for (const std::string& place : {preferred, std::string(chosen == nullptr ? "/tmp" : chosen),
                                   std::string("/var/tmp"), std::string("/dev/shm")}) {
    if (place.empty()) continue;
    std::error_code error;
    const std::string whole = fs::canonical(place, error).string();
    const bool is_covered = std::any_of(folders.begin(), folders.end(), [&](const auto& folder) {
      return is_below(whole, fs::canonical(folder, error).string());
    });
    if (whole.empty() || is_covered) continue;
    std::string name = whole + "/dtypecheck-writes.XXXXXX";
    if (::mkdtemp(name.data()) != nullptr) return name;
  }
  return "";
}

namespace {

// Itself, or the one of the file that it names, where that can be written to.
void add_folder_of(const fs::path& named, std::vector<std::string>& folders) {
  std::error_code error;
  const fs::path folder = fs::is_directory(named, error) ? named : named.parent_path();
  const bool is_writable = fs::is_directory(folder, error) && folder != folder.root_path() &&
                           ::access(folder.c_str(), W_OK) == 0;
  if (is_writable) folders.push_back(fs::canonical(folder, error).string());
}

}  // namespace

std::vector<std::string> written_folders(const std::vector<std::string>& command) {
  std::error_code error;
  std::vector<std::string> folders = {fs::current_path(error).string()};
  for (size_t i = 1; i < command.size(); ++i) {
    const size_t sign = command[i].starts_with('-') ? command[i].find('=') : std::string::npos;
    const fs::path named = sign == std::string::npos ? command[i] : command[i].substr(sign + 1);
    if (named.is_absolute() || named.string().find("..") != std::string::npos)
      add_folder_of(named, folders);
  }
  return folders;
}

std::vector<std::string> folders_of_environment() {
  std::vector<std::string> folders;
  add_folder_of("/tmp", folders);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const char* value = std::strchr(*entry, '=');
    if (value == nullptr || value[1] != '/') continue;
    std::error_code error;
    if (fs::is_directory(value + 1, error) || !fs::exists(value + 1, error))
      add_folder_of(value + 1, folders);
  }
  return folders;
}

std::string why_not_covered(const std::string& folder) {
  const std::string scratch = scratch_beside({folder});
  if (scratch.empty()) return "no folder is left for what the program writes";
  int words[2];
  if (::pipe2(words, O_CLOEXEC) != 0) return failed("pipe");
  const Descriptor reads(words[0]);
  Descriptor writes(words[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string problem = cover_folders({.folders = {folder}, .scratch = scratch});
    [[maybe_unused]] const ssize_t written = ::write(writes, problem.data(), problem.size());
    ::_exit(0);
  }
  writes.close();
  std::string problem;
  char buffer[256];
  for (ssize_t size; (size = ::read(reads, buffer, sizeof buffer)) > 0;)
    problem.append(buffer, static_cast<size_t>(size));
  ::waitpid(child, nullptr, 0);
  remove_scratch(scratch);
  return problem;
}

}  // namespace dtypecheck
