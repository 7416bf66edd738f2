// What the last branch serves is all that the others leave; two branches alike serve one dtype as
// the other. A branch that refuses, a typed pointer and a check above leave nothing wrong.
#include <torch/extension.h>

template <typename T>
void run(void* x, int64_t n);
template <typename T>
void launch(T* x, int64_t n);

void three(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    run<float>(x.data_ptr(), x.numel());
  } else if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr(), x.numel());
  } else {
    run<at::BFloat16>(x.data_ptr(), x.numel());
    // EXPECT error: x is of any dtype but Half or Float here, and is treated as BFloat16 [dtype-branch]
  }
}

void choice(at::Tensor x) {
  x.scalar_type() == at::kHalf ? run<at::Half>(x.data_ptr(), 1) : run<float>(x.data_ptr(), 1);
  // EXPECT error: x is of any dtype but Half here, and is treated as Float [dtype-branch]
}

void twice(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16, which other dispatches of this file have [dispatch-missing-half]
    run<float>(x.data_ptr(), x.numel());
  } else if (x.scalar_type() == at::kDouble) {
    // EXPECT error: x is Double here, and is treated as Float: another branch is the same [dtype-branch]
    run<float>(x.data_ptr(), x.numel());
  } else {
    TORCH_CHECK(false, "not implemented for ", x.scalar_type());
  }
}

void cast(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    launch(static_cast<at::Half*>(x.data_ptr()), x.numel());
  } else {
    launch(static_cast<float*>(x.data_ptr()), x.numel());
    // EXPECT error: x is of any dtype but Half here, and cast to float from an untyped pointer [dtype-branch]
  }
}

void refused(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    // EXPECT warning: this dispatch on x has no BFloat16, which autocast casts to on the CPU [dispatch-missing-half]
    run<at::Half>(x.data_ptr(), x.numel());
  } else if (x.scalar_type() == at::kFloat) {
    run<float>(x.data_ptr(), x.numel());
  } else {
    TORCH_CHECK(false, "not implemented for ", x.scalar_type());
  }
}

void typed(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    // EXPECT warning: this dispatch on x has no BFloat16, which autocast casts to on the CPU [dispatch-missing-half]
    launch(x.data_ptr<at::Half>(), x.numel());
  } else {
    launch(x.data_ptr<float>(), x.numel());
  }
}

void narrowed(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kHalf || x.scalar_type() == at::kFloat);
  x.scalar_type() == at::kHalf ? run<at::Half>(x.data_ptr(), 1) : run<float>(x.data_ptr(), 1);
}

void always_float(at::Tensor x) {
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "always_float", [&] {
    launch(x.data_ptr<float>(), x.numel());
    // EXPECT error: this dispatches on x, but always reads x as float [unchecked-data-ptr]
  });
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("three", &three);
  m.def("choice", &choice);
  m.def("twice", &twice);
  m.def("cast", &cast);
  m.def("refused", &refused);
  m.def("typed", &typed);
  m.def("narrowed", &narrowed);
  m.def("always_float", &always_float);
}
