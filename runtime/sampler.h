// sampler.h: an image from a text, to see what training has done.
#pragma once

#include <string>

#include "runtime/image.h"
#include "runtime/schedule.h"
#include "runtime/training_data.h"
#include "runtime/unet.h"
#include "runtime/vae.h"

namespace dtypecheck::runtime {

struct SampleOptions {
  int64_t steps = 20;
  double guidance = 5;  // how far from what no text would give (Ho and Salimans 2022); 1: none
};

// noise: [1, channels, height, width], standard normal. Pixels: [3, height, width], 0 to 1.
at::Tensor sample(const Unet& unet, const Vae& vae, const Schedule& schedule,
                  const EncodedText& text, const at::Tensor& noise, const SampleOptions& options);

Image image_of(const at::Tensor& pixels);

}  // namespace dtypecheck::runtime
