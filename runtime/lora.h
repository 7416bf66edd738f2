// lora.h: a low-rank change of every attention projection of the UNet (Hu et al. 2021), and its
// file.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>

#include <map>
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

// What goes into a file: masters, or their averages where there are some, in the saved dtype.
// Throws InputError, which names `path`, when a tensor has NaN or inf there.
std::map<std::string, at::Tensor> saved_tensors(const std::string& path,
                                                const std::vector<TrainedTensor>& trained,
                                                const std::vector<at::Tensor>& averages,
                                                const TrainedPolicy& policy);

// Kohya's names, with an alpha that makes the scale 1:
// lora_unet_input_blocks_4_1_transformer_blocks_0_attn1_to_q.lora_down.weight
std::map<std::string, at::Tensor> named_as_kohya(const std::map<std::string, at::Tensor>& lora,
                                                 int64_t layers_per_block);

}  // namespace dtypecheck::runtime
