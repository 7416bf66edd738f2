// OpenMP's header need not be installed, and a binding needs no pybind11.
#include <omp.h>
#include <torch/extension.h>

void run(at::Tensor x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat);
  float* values = x.data_ptr<float>();
#pragma omp parallel for num_threads(omp_get_max_threads())
  for (int64_t i = 0; i < x.numel(); ++i) values[i] *= 2;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run, pybind11::arg("x")); }
