// hook_cache.h: the folder in which stage 2 libraries are kept between runs, one for each LibTorch
// that was met.
#pragma once

#include <string>

namespace dtypecheck {

// $XDG_CACHE_HOME/dtypecheck or ~/.cache/dtypecheck, and in it a folder for this version and these
// sources, so that a rebuilt tracer is never shadowed by an old one. Made with mode 0700. Libraries
// are loaded from there into programs: a folder that another user owns or can write is not used,
// nor one that cannot be written; then it is `fallback`/hooks, and `why_not` gets the reason.
std::string hook_cache(const std::string& fallback, std::string* why_not);

}  // namespace dtypecheck
