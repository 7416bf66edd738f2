// installed.h: which files are those of packages that pip or the system installed. C++17 and plain,
// as core/codes.h is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtypecheck {

inline constexpr std::string_view kPackageFolders[] = {"site-packages", "dist-packages"};

// Where the name of a file begins behind a folder of these names; npos for another file.
inline std::size_t begin_in_named_folder(std::string_view path) {
  for (const std::string_view folder : kPackageFolders) {
    const std::string part = "/" + std::string(folder) + "/";
    if (const std::size_t at = path.rfind(part); at != path.npos) return at + part.size();
  }
  return path.npos;
}

// The same behind any folder of packages: reads those on the way to the file, once in a process,
// where the path is absolute. Where they are not on this machine their names decide.
std::size_t begin_in_packages(std::string_view path);

inline bool is_installed(std::string_view path) { return begin_in_packages(path) != path.npos; }

}  // namespace dtypecheck
