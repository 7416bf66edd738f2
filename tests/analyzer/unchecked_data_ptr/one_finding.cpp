// Many pointers, one cause: one finding.
#include <torch/extension.h>

void run(const float* a, const float* b, const float* c, const float* d, const int64_t* i);

void query(at::Tensor a, at::Tensor b, at::Tensor c, at::Tensor d, at::Tensor i) {
  run(a.data_ptr<float>(),
      // EXPECT warning: a, b and 3 more are read as fixed types, and nothing says that they are of that dtype [unchecked-data-ptr]
      b.data_ptr<float>(), c.const_data_ptr<float>(), d.accessor<float, 1>().data(),
      i.data_ptr<int64_t>());
}

TORCH_LIBRARY(cases, m) { m.def("query", &query); }
