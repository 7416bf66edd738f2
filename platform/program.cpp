#include "platform/program.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "platform/elf_file.h"
#include "platform/error.h"

namespace fs = std::filesystem;

namespace dtypecheck {

#if defined(__x86_64__)
static constexpr unsigned kOwnMachine = EM_X86_64;
static constexpr unsigned kOwnMachine32 = EM_386;
#elif defined(__aarch64__)
static constexpr unsigned kOwnMachine = EM_AARCH64;
static constexpr unsigned kOwnMachine32 = EM_ARM;
#endif

static bool can_execute(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

static std::vector<fs::path> path_folders() {
  const char* path = std::getenv("PATH");
  std::istringstream list(path ? path : "/usr/local/bin:/usr/bin:/bin");
  std::vector<fs::path> folders;
  for (std::string folder; std::getline(list, folder, ':');)
    folders.emplace_back(folder.empty() ? "." : folder);
  return folders;
}

static std::string search_path(const std::string& name) {
  std::error_code error;
  std::string there_but_not_executable;
  for (const fs::path& folder : path_folders()) {
    if (can_execute(folder / name)) return (folder / name).string();
    if (fs::is_regular_file(folder / name, error))
      there_but_not_executable = (folder / name).string();
  }
  if (!there_but_not_executable.empty()) return there_but_not_executable;
  if (fs::is_regular_file(name, error)) {
    const char* way_out = fs::path(name).extension() == ".py"
                              ? "run it with dtypecheck trace -- python {}"
                              : "for the file in this folder write ./{}";
    throw InputError(fmt::format("{}: no such program in PATH; {}", name,
                                 fmt::format(fmt::runtime(way_out), name)));
  }
  throw InputError(
      fmt::format("{}: no such program in PATH; check its name, or give its path", name));
}

static void check_executable(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw InputError(fmt::format("{}: {}; check the path of the program", path,
                                 error ? error.message() : "no such file"));
  }
  if (fs::is_directory(status)) throw InputError(path + ": is a folder; name the program in it");
  if (!can_execute(path)) {
    const bool python = fs::path(path).extension() == ".py";
    throw InputError(
        python ? fmt::format("{0}: is not executable; run it with dtypecheck trace -- python {0}",
                             path)
               : fmt::format("{0}: is not executable; make it so with chmod +x {0}", path));
  }
}

static void check_machine(const std::string& path) {
  const auto elf = ElfFile::open(path);
  if (!elf || elf->machine() == kOwnMachine || elf->machine() == kOwnMachine32) return;
  throw InputError(fmt::format(
      "{}: is a program for another processor (ELF machine {}, this one is {}); run it there", path,
      elf->machine(), kOwnMachine));
}

std::string find_program(const std::string& name) {
  if (name.empty()) throw InputError("the program's name is empty; give one after --");
  const bool is_path = name.find('/') != std::string::npos || name == "." || name == "..";
  const std::string path = is_path ? name : search_path(name);
  check_executable(path);
  check_machine(path);
  return path;
}

// The loader drops LD_PRELOAD when exec raises privileges: another owner's set-id bit, or file
// capabilities.
static bool raises_privileges(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return false;
  if ((info.st_mode & S_ISUID) && info.st_uid != ::getuid()) return true;
  if ((info.st_mode & S_ISGID) && (info.st_mode & S_IXGRP) && info.st_gid != ::getgid())
    return true;
  return ::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
}

static bool is_musl(const std::string& loader) {
  return fs::path(loader).filename().string().starts_with("ld-musl");
}

std::string why_not_traceable(const std::string& path) {
  if (raises_privileges(path)) {
    return "runs with raised privileges (set-user-id or capabilities), where the loader ignores "
           "LD_PRELOAD";
  }
  const auto elf = ElfFile::open(path);
  if (!elf) return "";
  if (!elf->is_64_bit()) return "is a 32-bit program, and the tracer is built for 64-bit ones";
  const std::string loader = elf->interpreter();
  if (loader.empty()) return "is statically linked, and nothing can be preloaded into it";
  if (is_musl(loader)) return "is linked to musl, and the tracer is built for glibc";
  return "";
}

static bool is_started_for_libtorch(const std::string& word) {
  const std::string name = fs::path(word).filename().string();
  for (const char* python : {"python", "pypy"}) {
    if (name.starts_with(python) &&
        name.find_first_not_of("0123456789.", std::strlen(python)) == name.npos)
      return true;
  }
#define LAUNCHER(program, start) \
  if (name == program) return true;
#include "platform/launchers.inc"
#undef LAUNCHER
  return false;
}

static std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  char text[256] = {};
  file.read(text, sizeof text - 1);
  const std::string_view read(text, static_cast<size_t>(file.gcount()));
  return std::string(read.substr(0, read.find('\n')));
}

bool may_run_libtorch(const std::string& path, const std::vector<std::string>& arguments) {
  // A shell's script is one argument of many words.
  const auto names_it = [](const std::string& argument) {
    std::istringstream words(argument);
    for (std::string word; words >> word;) {
      if (is_started_for_libtorch(word)) return true;
    }
    return false;
  };
  if (is_started_for_libtorch(path) || std::any_of(arguments.begin(), arguments.end(), names_it))
    return true;
  std::error_code none;
  if (!fs::is_regular_file(path, none)) return false;
  const std::string line = first_line_of(path);
  if (line.starts_with("#!")) return names_it(line.substr(2));
  const auto elf = ElfFile::open(path);
  const std::string_view names = elf ? elf->dynamic_names() : std::string_view();
  return names.find("libtorch") != names.npos || names.find("libc10") != names.npos;
}

// Other loaders ignore what they cannot preload; the program's children may be able to.
bool dies_of_preload(const std::string& path) {
  const auto elf = ElfFile::open(path);
  return elf && is_musl(elf->interpreter());
}

}  // namespace dtypecheck
