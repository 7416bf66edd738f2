// A dispatch that is written as a chain of comparisons, by hand or by a macro of the project.
#include <torch/extension.h>

#define DISPATCH(TYPE, ...)                      \
  if (TYPE == at::kFloat) {                      \
    using value_t = float;                       \
    __VA_ARGS__();                               \
  } else if (TYPE == at::kDouble) {              \
    using value_t = double;                      \
    __VA_ARGS__();                               \
  } else {                                       \
    TORCH_CHECK(false, "not for ", TYPE);        \
  }

template <typename T>
void run(const T* x, const T* y);

void by_macro(at::Tensor x, at::Tensor y) {
  DISPATCH(x.scalar_type(), [&] { run(x.data_ptr<value_t>(), y.data_ptr<value_t>()); });
  // EXPECT warning: this dispatch on x has neither Half nor BFloat16, which other dispatches of this file have [dispatch-missing-half]
  // EXPECT warning: y is read as the dtype of x, and nothing says that it has it [dispatch-other-tensor-unchecked]
}

void by_hand(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16, which other dispatches of this file have [dispatch-missing-half]
    run(x.data_ptr<float>(), x.data_ptr<float>());
  } else if (x.scalar_type() == at::kDouble) {
    run(x.data_ptr<double>(), x.data_ptr<double>());
  } else {
    throw 1;
  }
}

// Others go another way, or both are there, or it is no dispatch over floating dtypes.
void falls_back(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    run(x.data_ptr<float>(), x.data_ptr<float>());
  } else if (x.scalar_type() == at::kDouble) {
    run(x.data_ptr<double>(), x.data_ptr<double>());
  } else {
    at::Tensor wide = x.to(at::kFloat);
    run(wide.data_ptr<float>(), wide.data_ptr<float>());
  }
}

void has_both(at::Tensor x) {
  if (x.scalar_type() == at::kHalf) {
    run(x.data_ptr<at::Half>(), x.data_ptr<at::Half>());
  } else if (x.scalar_type() == at::kBFloat16) {
    run(x.data_ptr<at::BFloat16>(), x.data_ptr<at::BFloat16>());
  } else if (x.scalar_type() == at::kFloat) {
    run(x.data_ptr<float>(), x.data_ptr<float>());
  } else {
    throw 1;
  }
}
