// A literal of double makes its surroundings double; a kernel that is never made for Half may want that.
#include <torch/extension.h>

template <typename T>
__global__ void half_kernel(const T* x, T* out) {
  const float value = static_cast<float>(x[0]);
  out[0] = static_cast<T>(value * 0.5);
  // EXPECT note: 0.5 is a double: whatever it is combined with is computed in double [half-arithmetic]
  out[1] = static_cast<T>(value * 0.5f);
  out[2] = static_cast<T>(value * 2);
}

template <typename T>
__global__ void wide_kernel(const T* x, T* out) {
  const float value = static_cast<float>(x[0]);
  out[0] = static_cast<T>(value * 0.5);
}

void run(at::Tensor x, at::Tensor out) {
  TORCH_CHECK(x.scalar_type() == out.scalar_type());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "half", [&] {
    half_kernel<scalar_t><<<1, 1>>>(x.data_ptr<scalar_t>(), out.data_ptr<scalar_t>());
  });
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  wide_kernel<float><<<1, 1>>>(x.data_ptr<float>(), out.data_ptr<float>());
}
