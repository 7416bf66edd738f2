// Checks of a tensor that say nothing of its dtype: of its device, its layout, its memory.
#include <ATen/TensorUtils.h>
#include <torch/extension.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.type().is_cuda(), #x " must be on the GPU")
#define CHECK_DEVICE(x) TORCH_CHECK(x.options().device().is_cuda(), #x " must be on the GPU")
#define CHECK_TYPE(x) TORCH_CHECK(x.type().scalarType() == at::kFloat, #x " must be Float")

void run(const float* x);
void check_contiguous(const at::Tensor& x);
void check_inputs(const at::Tensor& x);

void by_type(at::Tensor a) {
  CHECK_CUDA(a);
  run(a.data_ptr<float>());
  // EXPECT warning: a is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

void by_options(at::Tensor b) {
  CHECK_DEVICE(b);
  run(b.data_ptr<float>());
  // EXPECT warning: b is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

void either(at::Tensor c) {
  TORCH_CHECK(c.is_cuda() || c.type().is_cuda());
  run(c.data_ptr<float>());
  // EXPECT warning: c is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

void by_libtorch(at::Tensor d) {
  at::checkDeviceType("by_libtorch", d, at::kCUDA);
  at::checkLayout("by_libtorch", {d}, at::kStrided);
  run(d.data_ptr<float>());
  // EXPECT warning: d is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

void by_name(at::Tensor e) {
  check_contiguous(e);
  run(e.data_ptr<float>());
  // EXPECT warning: e is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}

// What may look at the dtype, or does.
void checked(at::Tensor f, at::Tensor g, at::Tensor h) {
  check_inputs(f);
  CHECK_TYPE(g);
  TORCH_CHECK(h.is_cuda() && h.options().dtype() == at::kFloat);
  run(f.data_ptr<float>());
  run(g.data_ptr<float>());
  run(h.data_ptr<float>());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("by_type", &by_type);
  m.def("by_options", &by_options);
  m.def("either", &either);
  m.def("by_libtorch", &by_libtorch);
  m.def("by_name", &by_name);
  m.def("checked", &checked);
}
