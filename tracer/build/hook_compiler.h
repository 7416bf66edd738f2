// hook_compiler.h: compiles stage 2, or the operators, for one LibTorch with the user's own
// compiler.
#pragma once

#include <string>

#include "platform/install_paths.h"
#include "tracer/build/libtorch_info.h"

namespace dtypecheck {

// Writes `output` whole or not at all. What the compiler said is in <output>.log when it fails.
// Throws InputError: no compiler, no headers, compile error.
void compile_hook(const LibTorchInfo& libtorch, const HookSources& sources,
                  const std::string& output);

// The same for kernels/*/*.cu, by the nvcc of CUDA_HOME, of the PATH or of /usr/local/cuda.
void compile_cuda_kernels(const HookSources& sources, const std::string& output);

// The compiler that it would take, with its options; empty when there is none.
std::string usable_compiler(const Version& libtorch);

}  // namespace dtypecheck
