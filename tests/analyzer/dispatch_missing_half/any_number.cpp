// AT_DISPATCH_V2 has its dtypes as arguments, one by one and in families.
#include <ATen/Dispatch_v2.h>
#include <torch/extension.h>

template <typename T>
void run(T* x, int64_t n, bool twice = false);

void floats_alone(at::Tensor x) {
  AT_DISPATCH_V2(x.scalar_type(), "floats_alone", AT_WRAP([&] {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16, which other dispatches of this file have [dispatch-missing-half]
    run(x.data_ptr<scalar_t>(), x.numel());
  }), AT_EXPAND(AT_FLOATING_TYPES));
}

void with_both(at::Tensor x) {
  AT_DISPATCH_V2(x.scalar_type(), "with_both",
                 AT_WRAP([&] { run<scalar_t>(x.data_ptr<scalar_t>(), x.numel(), true); }),
                 at::kHalf, at::kBFloat16, AT_EXPAND(AT_ALL_TYPES), AT_EXPAND(AT_COMPLEX_TYPES));
}

void of_all_floats(at::Tensor x) {
  AT_DISPATCH_V2(x.scalar_type(), "of_all_floats", AT_WRAP([&] {
    run(x.data_ptr<scalar_t>(), x.numel());
  }), AT_EXPAND(AT_FLOATING_TYPES), at::kHalf, at::kBFloat16);
}

void integers(at::Tensor x, at::Tensor index) {
  AT_DISPATCH_V2(index.scalar_type(), "integers", AT_WRAP([&] {
    run(index.data_ptr<scalar_t>(), x.numel());
  }), AT_EXPAND(AT_INTEGRAL_TYPES));
}
