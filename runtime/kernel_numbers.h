// kernel_numbers.h: a contiguous tensor on the CPU as kernels/ wants it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "kernels/element.h"

namespace dtypecheck::runtime {

// The numbers of t from `first` on; null where t is undefined.
inline kernels::Output output(const at::Tensor& t, int64_t first = 0) {
  if (!t.defined()) return {};
  auto* bytes = static_cast<std::byte*>(t.data_ptr());
  return {bytes + first * static_cast<int64_t>(t.element_size()),
          static_cast<Dtype>(t.scalar_type())};
}
inline kernels::Input input(const at::Tensor& t, int64_t first = 0) {
  const kernels::Output same = output(t, first);
  return {same.data, same.dtype};
}

}  // namespace dtypecheck::runtime
