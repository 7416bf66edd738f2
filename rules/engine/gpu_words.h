// gpu_words.h: what the rules about a GPU's kernels share.
#pragma once

#include <optional>
#include <string>

#include "core/op_call.h"

namespace dtypecheck::rules {

// In which dtype people think that the op computes: that of all its floating operands, where they
// have one.
std::optional<Dtype> floating_dtype_of(const OpCall& call);
bool is_convolution(const OpCall& call);

// "ampere_sgemm_128x64_nn took 0.300 ms of the GPU in 3 launches".
std::string time_of(const GpuWork& work);

}  // namespace dtypecheck::rules
