// fused_rms_norm.h: an RMS norm as extensions ship it, an operator of the dispatcher that reads its
// weight in the input's dtype without looking (Apex's rms_norm_affine does). It is here to fail.
#pragma once

#include <ATen/core/Tensor.h>

namespace dtypecheck::runtime {

// x / sqrt(mean(x^2) + eps) * weight over the last dimension. Throws c10::Error when input and
// weight differ in dtype: "expected scalar type Float but found Half".
at::Tensor fused_rms_norm(const at::Tensor& input, const at::Tensor& weight, double eps);

}  // namespace dtypecheck::runtime
