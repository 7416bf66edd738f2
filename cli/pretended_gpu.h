// pretended_gpu.h: what a program's environment needs so that it finds a GPU of tracer/pretended/,
// which computes nothing.
#pragma once

#include <string>
#include <vector>

#include "platform/child.h"

namespace dtypecheck::cli {

// The names that --gpu takes: "a100".
std::vector<std::string> pretended_gpus();
// The first that is of this compute capability, "sm_90" or "sm_90a"; "" for none.
std::string pretended_gpu_of(const std::string& capability);
std::vector<std::string> pretended_capabilities();  // "sm_70", each once

// Adds to LD_PRELOAD. Libraries whose path LD_PRELOAD cannot take are linked from `link_folder`.
// `bytes` of memory, or 0 for what that GPU has. Throws InputError where the libraries are missing.
void pretend_gpu(Environment& environment, const std::string& gpu, unsigned count, uint64_t bytes,
                 const std::string& link_folder);

}  // namespace dtypecheck::cli
