// A function that this file calls is judged in its callers; of one that it does not, nobody knows.
#include <torch/extension.h>

void run(const float* x);

static void checked_by_its_caller(at::Tensor x) { run(x.data_ptr<float>()); }
static void checked_by_one_caller(at::Tensor x) { run(x.data_ptr<float>()); }
// EXPECT warning: x is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]

void bound(at::Tensor x, at::Tensor y) {
  TORCH_CHECK(x.scalar_type() == torch::kFloat);
  checked_by_its_caller(x);
  checked_by_one_caller(x);
  checked_by_one_caller(y);
}

void called_elsewhere(at::Tensor x) { run(x.data_ptr<float>()); }
// EXPECT note: x is read as float, and nothing says that it is of that dtype [unchecked-data-ptr]

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("bound", &bound); }
