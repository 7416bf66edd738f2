// A switch and a chain of ifs narrow; what they leave over is not what the pointer says.
#include <torch/extension.h>

void run(const float* x);
void run(const double* x);

void by_switch(at::Tensor x) {
  switch (x.scalar_type()) {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
    case at::kFloat:
      return run(x.data_ptr<float>());
    case at::kDouble:
      return run(x.data_ptr<double>());
    default:
      AT_ERROR("not for ", toString(x.scalar_type()));
  }
}

void by_chain(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) {
    // EXPECT warning: this dispatch on x has neither Half nor BFloat16 [dispatch-missing-half]
    run(x.data_ptr<float>());
  } else if (x.scalar_type() == at::kDouble) {
    run(x.data_ptr<double>());
  } else {
    AT_ERROR("neither Float nor Double");
  }
}

void mistaken(at::Tensor x) {
  if (x.scalar_type() == at::kFloat) run(x.data_ptr<double>());
  // EXPECT error: x is Float here and is read as double [unchecked-data-ptr]
}
