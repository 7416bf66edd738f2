// Where the same file handles half, leaving it out is a warning; without BFloat16 alone it is a note.
#include <torch/extension.h>

template <typename T>
void run(T* x);

void forward(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "forward", [&] { run(x.data_ptr<scalar_t>()); });
  // EXPECT warning: this dispatch on x has no BFloat16, which autocast casts to on the CPU [dispatch-missing-half]
}

void backward(at::Tensor grad) {
  AT_DISPATCH_FLOATING_TYPES(grad.scalar_type(), "backward", [&] { run(grad.data_ptr<scalar_t>()); });
  // EXPECT warning: this dispatch on grad has neither Half nor BFloat16, which other dispatches of this file have [dispatch-missing-half]
}

void made_here() {
  at::Tensor x = at::zeros({4}, at::kDouble);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "made_here", [&] { run(x.data_ptr<scalar_t>()); });
}
