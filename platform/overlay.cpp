#include "platform/overlay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

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

}  // namespace

std::string cover_folders(const std::vector<std::string>& folders,
                          const std::vector<std::string>& kept, const std::string& scratch) {
  struct Kept {
    std::string path;
    Descriptor folder;
  };
  std::vector<std::string> outermost;
  for (const std::string& folder : folders) {
    std::error_code error;
    const std::string whole = fs::canonical(folder, error).string();
    if (error) return fmt::format("{}: {}", folder, error.message());
    outermost.push_back(whole);
  }
  std::sort(outermost.begin(), outermost.end());
  outermost.erase(std::unique(outermost.begin(), outermost.end(),
                              [](const auto& a, const auto& b) { return is_below(b, a); }),
                  outermost.end());
  std::error_code unknown;
  const fs::path here = fs::current_path(unknown);
  if (const std::string problem = enter_namespaces(); !problem.empty()) return problem;
  std::vector<Kept> open;
  for (const std::string& folder : kept) {
    std::error_code error;
    const std::string whole = fs::canonical(folder, error).string();
    Descriptor fd(::open(whole.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (error || fd < 0) return failed(folder);
    open.push_back({whole, std::move(fd)});
  }
  for (size_t i = 0; i < outermost.size(); ++i) {
    if (const std::string problem = cover(outermost[i], scratch, i); !problem.empty())
      return problem;
  }
  for (const Kept& folder : open) {
    const bool is_covered =
        std::any_of(outermost.begin(), outermost.end(),
                    [&](const std::string& covered) { return is_below(folder.path, covered); });
    const std::string source = fmt::format("/proc/self/fd/{}", static_cast<int>(folder.folder));
    if (is_covered && ::mount(source.c_str(), folder.path.c_str(), nullptr, MS_BIND, nullptr) != 0)
      return failed(fmt::format("{} could not be kept as it is", folder.path));
  }
  if (::chdir(here.c_str()) != 0) return failed(here.string());  // into the covered folder
  return "";
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

std::vector<std::string> written_folders(const std::vector<std::string>& command) {
  std::error_code error;
  std::vector<std::string> folders = {fs::current_path(error).string()};
  for (size_t i = 1; i < command.size(); ++i) {
    const size_t sign = command[i].starts_with('-') ? command[i].find('=') : std::string::npos;
    const fs::path named = sign == std::string::npos ? command[i] : command[i].substr(sign + 1);
    if (!named.is_absolute() && named.string().find("..") == std::string::npos) continue;
    const fs::path folder = fs::is_directory(named, error) ? named : named.parent_path();
    const bool is_writable = fs::is_directory(folder, error) && folder != folder.root_path() &&
                             ::access(folder.c_str(), W_OK) == 0;
    if (is_writable) folders.push_back(fs::canonical(folder, error).string());
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
    const std::string problem = cover_folders({folder}, {}, scratch);
    [[maybe_unused]] const ssize_t written = ::write(writes, problem.data(), problem.size());
    ::_exit(0);
  }
  writes.close();
  std::string problem;
  char buffer[256];
  for (ssize_t size; (size = ::read(reads, buffer, sizeof buffer)) > 0;)
    problem.append(buffer, static_cast<size_t>(size));
  ::waitpid(child, nullptr, 0);
  std::error_code error;
  fs::remove_all(scratch, error);
  return problem;
}

}  // namespace dtypecheck
