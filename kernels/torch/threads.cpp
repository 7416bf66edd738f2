// threads.cpp: kernels run on LibTorch's threads, as many as at::set_num_threads said. Compiled
// without OpenMP at::parallel_for has one, and the kernels' own pool is better.
#include "kernels/threads.h"

#include <ATen/Parallel.h>
#include <torch/library.h>

#include "kernels/variant.h"

namespace dtypecheck::operators {

#ifdef _OPENMP
namespace {

void parallel_for(int64_t parts, kernels::Part part, void* context) {
  at::parallel_for(0, parts, 1, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) part(context, i);
  });
}
[[maybe_unused]] const bool threads_are_set = (kernels::set_parallel_for(parallel_for), true);

}  // namespace
#endif

namespace {

// Where not, the plain references run.
TORCH_LIBRARY_FRAGMENT(dtypecheck, m) {
  m.def("has_vectors() -> bool", kernels::has_vectors);
  m.def("has_device_kernels() -> bool", kernels::has_device_kernels);  // else no GPU is served
}

}  // namespace

}  // namespace dtypecheck::operators
