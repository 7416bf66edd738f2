// hook_cache.h: the folder in which stage 2 libraries are kept between runs, one for each LibTorch
// that was met.
#pragma once

#include <string>

#include "platform/install_paths.h"

namespace dtypecheck {

// A folder of cache_root() for this version and these sources, so that a rebuilt tracer is never
// shadowed by an old one. Where it is not to be trusted (platform/cache_folder.h) or cannot be
// written, it is `fallback`/hooks, and `why_not` gets the reason; else that is empty.
std::string hook_cache(const std::string& fallback, std::string* why_not);

// The name in it, without ".so", of stage 2 for the LibTorch of that path, as stage 1 finds it
// (tracer/protocol.md).
std::string hook_name(const std::string& libtorch);

// The name in it of a library of the operators for the LibTorch of that path, by both's sources.
std::string operators_name(const HookSources& sources, const std::string& libtorch);
// That of the kernels for a GPU, which are for any LibTorch.
std::string cuda_kernels_name(const HookSources& sources);

}  // namespace dtypecheck
