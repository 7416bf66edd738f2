// A helper that casts the pointer to the type that its caller names: each call is a read of its own,
// which the caller has to check.
#include <torch/extension.h>

template <typename T>
T* pointer_to(const at::Tensor& t) {
  return reinterpret_cast<T*>(t.data_ptr());
}

void run(const float* x, const float* y);

void scale(at::Tensor x, at::Tensor y) {
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  run(pointer_to<float>(x), pointer_to<float>(y));
  // EXPECT error: y is cast to float from an untyped pointer, and nothing compares the dtype [raw-cast]
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
