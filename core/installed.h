// installed.h: which files are those of packages that pip or the system installed. C++17 and plain,
// as core/codes.h is.
#pragma once

#include <cstddef>
#include <string_view>

namespace dtypecheck {

// Where the name of such a file begins behind the folder of packages; npos for another file.
inline std::size_t begin_in_packages(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(folder);
    if (at != path.npos) return at + folder.size();
  }
  return path.npos;
}

inline bool is_installed(std::string_view path) { return begin_in_packages(path) != path.npos; }

}  // namespace dtypecheck
