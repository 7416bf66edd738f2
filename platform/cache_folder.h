// cache_folder.h: where dtypecheck keeps between runs what it can make again: compiled hooks, facts
// of sources, parsed headers.
#pragma once

#include <filesystem>
#include <string>

namespace dtypecheck {

// $XDG_CACHE_HOME/dtypecheck, or ~/.cache/dtypecheck of $HOME or else of the user's account; empty
// where there is none of them. The standard says that a relative XDG_CACHE_HOME is to be ignored.
std::filesystem::path cache_root();

// Makes the folder and the one around it, both with mode 0700, and says why they are not to be
// trusted: what lies there is loaded into programs, so a folder that another user owns or that
// others can write is not. Empty: it is.
std::string make_cache_folder(const std::filesystem::path& folder);

}  // namespace dtypecheck
