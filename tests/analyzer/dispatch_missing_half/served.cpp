// What a dispatch leaves out may be served behind it, or be what autocast never makes: on the CPU
// it casts to BFloat16.
#include <torch/extension.h>

template <typename T>
void run(const T* x);

int64_t bytes_of(at::Tensor x) {
  int64_t size = 0;
  bool by_numel = false;
  switch (x.scalar_type()) {
    case at::kFloat: size = 4; break;
    case at::kDouble: size = 8; break;
    default: by_numel = true;
  }
  return by_numel ? x.nbytes() : size * x.numel();
}

int64_t bytes_or_none(at::Tensor x) {
  int64_t size = 0;
  switch (x.scalar_type()) {
      // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
    case at::kFloat: size = 4; break;
    case at::kDouble: size = 8; break;
    default: TORCH_CHECK(false, "not for ", x.scalar_type());
  }
  return size * x.numel();
}

void with_bfloat16(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, x.scalar_type(), "f", [&] {
    run(x.data_ptr<scalar_t>());
  });
}
