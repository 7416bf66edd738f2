// hook_compiler.h: compiles stage 2 for one LibTorch with the user's own compiler.
#pragma once

#include <string>

#include "platform/install_paths.h"
#include "tracer/build/libtorch_info.h"

namespace dtypecheck {

// Writes `output` whole or not at all. What the compiler said is in <output>.log when it fails.
// Throws InputError: no compiler, no headers, compile error.
void compile_hook(const LibTorchInfo& libtorch, const HookSources& sources,
                  const std::string& output);

}  // namespace dtypecheck
