// recompute.h: memory for time. What a block computes on its way is not kept for the backward pass
// but computed again there (Chen et al. 2016).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace dtypecheck::runtime {

// It may also use weights that are trained; they get their gradients as
// ever.
using Recomputable = std::function<at::Tensor(const at::Tensor& x, const at::Tensor& context)>;

// block(x, context). The block must live until the backward pass.
at::Tensor recomputed(const Recomputable& block, const at::Tensor& x, const at::Tensor& context);

}  // namespace dtypecheck::runtime
