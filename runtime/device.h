// device.h: where a run computes.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace dtypecheck::runtime {

// "cpu", "cuda" or "cuda:1". CUDA's half of LibTorch, which takes seconds and hundreds of
// megabytes, is loaded when it is asked for, so this comes before any other use of LibTorch. Throws
// InputError for another name, and where there is no such device, with the reason.
at::Device find_device(const std::string& name);

}  // namespace dtypecheck::runtime
