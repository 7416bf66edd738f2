// A helper that checks a list is followed where the list has one tensor only, and on one way only.
#include <torch/extension.h>

void run(const float* x, const float* mask);

static void check_float(at::ArrayRef<at::Tensor> tensors) {
  for (const at::Tensor& t : tensors) TORCH_CHECK(t.dtype() == at::kFloat);
}

void scale(at::Tensor x, at::Tensor y, at::Tensor mask, bool has_mask) {
  check_float({x, y});
  if (has_mask) check_float({mask});
  run(x.data_ptr<float>(), y.data_ptr<float>());
}

void shift(at::Tensor x, at::Tensor y) {
  check_float({x});
  run(x.data_ptr<float>(), y.data_ptr<float>());
  // EXPECT warning: y is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale", &scale);
  m.def("shift", &shift);
}
