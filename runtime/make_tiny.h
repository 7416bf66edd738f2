// make_tiny.h: a whole SDXL in miniature, with random weights, to try things on. No LibTorch here.
#pragma once

#include <cstdint>
#include <string>

namespace dtypecheck::runtime {

// Writes into a folder that is new or empty:
//   model/       a diffusers folder of SDXL's layout, its UNet with `unet_channels` (4, or 9 for
//                inpainting)
//   t5/          a T5 encoder
//   images/      four images and metadata.jsonl
// The same seed gives the same bytes. Throws InputError.
void make_tiny(const std::string& folder, int64_t unet_channels, uint64_t seed);

}  // namespace dtypecheck::runtime
