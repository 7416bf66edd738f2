// mixed_norm.h: layer and group norm of numbers in 16 bits under Float weights, by kernels/: read,
// normalised in Float and rounded once, in one pass, where LibTorch's ops need a Float copy of what
// goes in, keep that for the backward pass, and leave another. Ops of the dispatcher, so that a
// tracer sees them; on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace dtypecheck::runtime {

// x on the CPU and in Half or BFloat16, as what comes out is to be; normalised in Float, as are the
// weights.
bool is_for_mixed_norm(const at::Tensor& x, std::optional<at::ScalarType> norm,
                       std::optional<at::ScalarType> compute);

// x: [..., width], weight and bias: [width]. In x's dtype; with gradients.
at::Tensor mixed_layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            double eps);
// x: [batch, channels, ...], weight and bias: [channels].
at::Tensor mixed_group_norm(const at::Tensor& x, int64_t groups, const at::Tensor& weight,
                            const at::Tensor& bias, double eps);

}  // namespace dtypecheck::runtime
