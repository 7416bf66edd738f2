// A switch is a chain of questions, and so is what stands behind a lone question that returns. A
// default that refuses, or that asks once more, leaves nothing wrong.
#include <torch/extension.h>

template <typename T>
void run(void* x, int64_t n);

void by_switch(at::Tensor x) {
  switch (x.scalar_type()) {
    case at::kHalf:
      run<at::Half>(x.data_ptr(), x.numel());
      break;
    case at::kBFloat16:
      run<at::BFloat16>(x.data_ptr(), x.numel());
      break;
    default:
      run<float>(x.data_ptr(), x.numel());
      // EXPECT error: x is of any dtype but Half or BFloat16 here, and is treated as Float [dtype-branch]
  }
}

void refused(at::Tensor x) {
  switch (x.scalar_type()) {
    case at::kHalf:
    case at::kBFloat16:
      run<at::Half>(x.data_ptr(), x.numel());
      break;
    case at::kFloat:
      run<float>(x.data_ptr(), x.numel());
      break;
    default:
      TORCH_CHECK(false, "not implemented for ", x.scalar_type());
  }
}

#define FOR_EACH_TYPE(dtype, ...)      \
  switch (dtype) {                     \
    case at::kFloat: {                 \
      using type = float;              \
      __VA_ARGS__;                     \
      break;                           \
    }                                  \
    default: {                         \
      using type = at::Half;           \
      __VA_ARGS__;                     \
    }                                  \
  }

void by_macro(at::Tensor x) {
  FOR_EACH_TYPE(x.scalar_type(), run<type>(x.data_ptr(), x.numel()));
  // EXPECT error: x is of any dtype but Float here, and is treated as Half [dtype-branch]
}

void returns(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) return run<at::Half>(x.data_ptr(), x.numel());
  run<float>(x.data_ptr(), x.numel());
  // EXPECT error: x is of any dtype but Half here, and is treated as Float [dtype-branch]
}

void asks_again(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) return run<at::Half>(x.data_ptr(), x.numel());
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  run<float>(x.data_ptr(), x.numel());
}

void named(at::Tensor x) {
  const bool is_half = x.scalar_type() == at::kHalf;
  if (!is_half) {
    run<float>(x.data_ptr(), x.numel());
    // EXPECT error: x is of any dtype but Half here, and is treated as Float [dtype-branch]
  } else {
    run<at::Half>(x.data_ptr(), x.numel());
  }
}

void casts(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    run<at::Half>(x.data_ptr(), x.numel());
  } else {
    run<float>(x.to(at::kFloat).data_ptr(), x.numel());
  }
}

void either(at::Tensor x) {
  if (x.scalar_type() == at::kHalf || x.scalar_type() == at::kFloat) {
    run<float>(x.to(at::kFloat).data_ptr(), x.numel());
  } else {
    TORCH_CHECK(x.scalar_type() == at::kBFloat16);
    run<at::BFloat16>(x.data_ptr(), x.numel());
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("by_switch", &by_switch);
  m.def("refused", &refused);
  m.def("by_macro", &by_macro);
  m.def("returns", &returns);
  m.def("asks_again", &asks_again);
  m.def("named", &named);
  m.def("casts", &casts);
  m.def("either", &either);
}
