// An untyped pointer that goes to a function of another file, or into a field, is reported where
// nothing looks at the dtype; not where the function asks for it, and not memory that is lent.
#include <torch/extension.h>

void run(const void* x, const void* weight, void* workspace, bool is_half);
struct Params {
  const void* x;
  const void* weight;
};
void launch(const Params& params);

void scale(at::Tensor x, at::Tensor weight, at::Tensor workspace) {
  run(x.data_ptr(), weight.data_ptr(), workspace.data_ptr(), x.scalar_type() == at::kHalf);
  // EXPECT warning: weight is handed on as an untyped pointer, and nothing looks at the dtype [raw-cast]
}

void fill(at::Tensor x, at::Tensor weight) {
  TORCH_CHECK(x.scalar_type() == at::kHalf);
  Params params;
  params.x = x.data_ptr();
  params.weight = weight.data_ptr();
  // EXPECT warning: weight is handed on as an untyped pointer, and nothing looks at the dtype [raw-cast]
  launch(params);
}

void fill_alike(at::Tensor x, at::Tensor weight) {
  TORCH_CHECK(x.scalar_type() == at::kHalf && weight.scalar_type() == x.scalar_type());
  launch(Params{x.data_ptr(), weight.data_ptr()});
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale", &scale);
  m.def("fill", &fill);
  m.def("fill_alike", &fill_alike);
}
