// lora.h: a low-rank change of every attention projection of the UNet (Hu et al. 2021), and its
// file.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "runtime/optimizer.h"
#include "runtime/policy.h"
#include "runtime/unet.h"

namespace dtypecheck::runtime {

// Puts a LoRA of scale 1 beside each projection and returns its tensors by their names in a file of
// diffusers: unet.<projection>.lora.down.weight, [rank, in], normal with deviation 1 / rank; and
// .lora.up.weight, [out, rank], zeros.
std::vector<TrainedTensor> add_lora(Unet& unet, int64_t rank, const TrainedPolicy& policy,
                                    const at::Generator& random);

// Throws InputError and writes nothing when a tensor has NaN or inf, or the file cannot be written.
void save_lora(const std::string& path, const std::vector<TrainedTensor>& lora,
               const TrainedPolicy& policy);

}  // namespace dtypecheck::runtime
