// hook_compiler.h: compiles stage 2 for one LibTorch with the user's own compiler.
#pragma once

#include <string>

#include "cli/install_paths.h"
#include "cli/libtorch_info.h"

namespace dtypecheck::cli {

// Writes `output` whole or not at all. What the compiler said is in <output>.log when it fails.
// Throws InputError: no compiler, no headers, compile error.
void compile_hook(const LibTorchInfo& libtorch, const HookSources& sources,
                  const std::string& output);

}  // namespace dtypecheck::cli
