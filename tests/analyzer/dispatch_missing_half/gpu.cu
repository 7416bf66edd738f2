// A kernel is what autocast calls with Half on a GPU, so a dispatch without it is a warning there.
// Running statistics are Float whatever the model is in.
#include <torch/extension.h>

template <typename T>
__global__ void scale_kernel(T* x) {}

void scale(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
    scale_kernel<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>());
  });
}

void decay(at::Tensor running_mean) {
  AT_DISPATCH_FLOATING_TYPES(running_mean.scalar_type(), "decay", [&] {
    scale_kernel<scalar_t><<<1, 1>>>(running_mean.data_ptr<scalar_t>());
  });
}
