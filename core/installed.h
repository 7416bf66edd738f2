// installed.h: which files are those of packages that pip or the system installed. C++17 and plain,
// as core/codes.h is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dtypecheck {

inline constexpr std::string_view kPackageFolders[] = {"site-packages", "dist-packages"};

// Where the name of such a file begins behind the folder of packages; npos for another file.
inline std::size_t begin_in_packages(std::string_view path) {
  for (const std::string_view folder : kPackageFolders) {
    const std::string part = "/" + std::string(folder) + "/";
    if (const std::size_t at = path.rfind(part); at != path.npos) return at + part.size();
  }
  return path.npos;
}

inline bool is_installed(std::string_view path) { return begin_in_packages(path) != path.npos; }

}  // namespace dtypecheck
