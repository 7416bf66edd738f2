// A check of the kind admits all dtypes of that kind, float8 among them, and those alone.
#include <torch/extension.h>

void run(const float* x);
void run(const int* x);

void floating(at::Tensor a) {
  TORCH_CHECK(a.is_floating_point());
  run(a.data_ptr<float>());
  // EXPECT warning: a may be of any floating dtype here and is read as float [unchecked-data-ptr]
}

void by_scalar_type(at::Tensor b) {
  TORCH_CHECK(at::isFloatingType(b.scalar_type()));
  run(static_cast<const float*>(b.data_ptr()));
  // EXPECT warning: b may be of any floating dtype here and is read as float [raw-cast]
}

void integral(at::Tensor c) {
  TORCH_CHECK(at::isIntegralType(c.scalar_type(), /*includeBool=*/false));
  run(c.data_ptr<int>());
  // EXPECT warning: c may be of any integral dtype here and is read as int [unchecked-data-ptr]
  run(c.data_ptr<float>());
  // EXPECT error: c is of any integral dtype here and is read as float [unchecked-data-ptr]
}

// An exclusion leaves too many to name, and one that asks for the size has looked.
void looked(at::Tensor d, at::Tensor e) {
  TORCH_CHECK(d.scalar_type() != at::kHalf);
  TORCH_CHECK(e.element_size() == 4);
  run(d.data_ptr<float>());
  run(e.data_ptr<float>());
}

void narrowed_further(at::Tensor f) {
  TORCH_CHECK(f.is_floating_point());
  if (f.scalar_type() == at::kFloat) run(f.data_ptr<float>());
}
