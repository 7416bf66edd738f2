// A last branch that takes a typed pointer refuses what has no branch: a dispatch by hand.
#include <torch/extension.h>

template <typename T>
void run(T* x);

void scale(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
    run(x.data_ptr<float>());
  } else {
    run(x.data_ptr<double>());
  }
}

// The pointer is another tensor's, and nothing refuses x.
void shift(at::Tensor x, at::Tensor y) {
  if (x.scalar_type() == at::kFloat) {
    run(y.data_ptr<float>());
    // EXPECT note: y is read as fixed types, and nothing says that it is of that dtype [unchecked-data-ptr]
  } else {
    run(y.data_ptr<double>());
  }
}
