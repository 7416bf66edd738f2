// A dtype or options that an object holds: what is made with them, and compared with them.
#include <torch/extension.h>

void run(const float* x);

struct Config {
  at::ScalarType dtype = at::kHalf;
  at::ScalarType given = at::kFloat;
  at::ScalarType exact = at::kFloat;
  at::TensorOptions options = at::dtype(at::kHalf);
  at::TensorOptions unset;
};
void set(Config& config, at::ScalarType dtype) { config.given = dtype; }

void make(const Config& config) {
  at::Tensor x = at::empty({1}, config.dtype);
  run(x.data_ptr<float>());
  // EXPECT error: x is Half here and is read as float [unchecked-data-ptr]
  at::Tensor y = at::empty({1}, config.given);
  run(y.data_ptr<float>());
  at::Tensor z = at::empty({1}, config.options);
  run(z.data_ptr<float>());
  // EXPECT error: z is Half here and is read as float [unchecked-data-ptr]
  at::Tensor u = at::empty({1}, config.unset);
  run(u.data_ptr<float>());
}
void compare(at::Tensor x, at::Tensor y, const Config& config) {
  TORCH_CHECK(x.scalar_type() == config.exact);
  run(x.data_ptr<float>());
  TORCH_CHECK(y.scalar_type() == config.given);
  run(y.data_ptr<float>());
  // EXPECT note: y is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]
}
void compare_half(at::Tensor x, const Config& config) {
  TORCH_CHECK(x.scalar_type() == config.dtype);
  run(x.data_ptr<float>());
  // EXPECT error: x is Half here and is read as float [unchecked-data-ptr]
}
