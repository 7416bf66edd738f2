// C++ that calls a GPU's library: what autocast casts to on the CPU is no reason there.
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

template <typename T>
void launch(const T* x);

void forward(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "forward", [&] {
    // EXPECT warning: this dispatch on x has no BFloat16, which its project has elsewhere [dispatch-missing-half]
    launch(x.data_ptr<scalar_t>());
  });
}

void backward(at::Tensor grad) {
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, grad.scalar_type(), "backward", [&] {
    // EXPECT warning: this dispatch on grad has no Half, which other dispatches of this file have [dispatch-missing-half]
    launch(grad.data_ptr<scalar_t>());
  });
}
