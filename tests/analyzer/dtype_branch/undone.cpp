// Branches for some dtypes, and none for the rest: the tensor comes back as it was. Where a check
// has named those that come, or the rest is refused, nothing is left.
#include <torch/extension.h>

template <typename T>
void run(T* x, int64_t n);

void undone(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    // EXPECT error: nothing is done here with x of any dtype but Half or Float, and nothing refuses it [dtype-branch]
    run<float>(x.data_ptr<float>(), x.numel());
  } else if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr<at::Half>(), x.numel());
  }
}

void checked(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat || x.scalar_type() == at::kHalf);
  if (x.scalar_type() == at::kFloat) {
    run<float>(x.data_ptr<float>(), x.numel());
  } else if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr<at::Half>(), x.numel());
  }
}

// What is left are Double and what no kernel is written for.
void usual(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    run<float>(x.data_ptr<float>(), x.numel());
  } else if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr<at::Half>(), x.numel());
  } else if (x.scalar_type() == at::kBFloat16) {
    run<at::BFloat16>(x.data_ptr<at::BFloat16>(), x.numel());
  }
}

void refused(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    return run<float>(x.data_ptr<float>(), x.numel());
  } else if (x.scalar_type() == at::kDouble) {
    return run<double>(x.data_ptr<double>(), x.numel());
  }
  TORCH_CHECK(false, "not implemented for ", x.scalar_type());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("undone", &undone);
  m.def("checked", &checked);
  m.def("usual", &usual);
  m.def("refused", &refused);
}
