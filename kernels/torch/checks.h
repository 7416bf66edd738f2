// checks.h: what the operators ask of their arguments, in LibTorch's words, and tensors as kernels/
// want them.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/element.h"
#include "kernels/torch/device.h"
#include "kernels/torch/operators.h"

namespace dtypecheck::operators {

using List = std::vector<at::Tensor>;
using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using OptionalTensor = Optional<at::Tensor>;

// ---- as kernels/ want them: contiguous; null where undefined

inline kernels::Output output(const at::Tensor& t) {
  if (!t.defined()) return {};
  return {t.data_ptr(), static_cast<Dtype>(t.scalar_type())};  // the numbers are c10's
}
inline kernels::Input input(const at::Tensor& t) {
  const kernels::Output same = output(t);
  return {same.data, same.dtype};
}

// Of one that is contiguous either way.
inline kernels::Layout layout_of(const at::Tensor& t) {
  return t.is_contiguous() ? kernels::Layout::kChannelsFirst : kernels::Layout::kChannelsLast;
}

inline at::Tensor or_undefined(const Optional<at::Tensor>& t) { return t ? *t : at::Tensor(); }
inline Optional<at::Tensor> or_none(const at::Tensor& t) {
  return t.defined() ? Optional<at::Tensor>(t) : Optional<at::Tensor>();
}

// Kernels compute in Float; what has a Double is LibTorch's, in Double.
inline bool any_double(std::initializer_list<at::Tensor> tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const at::Tensor& t) {
    return t.defined() && t.scalar_type() == at::kDouble;
  });
}
inline at::Tensor wide(const at::Tensor& t) { return t.defined() ? t.to(at::kDouble) : t; }

// ---- checks

struct Named {
  std::string name;
  at::Tensor tensor;  // undefined: was not given
};

inline bool is_floating_dtype(at::ScalarType t) {
  return t == at::kFloat || t == at::kHalf || t == at::kBFloat16 || t == at::kDouble;
}

// What computes on a GPU: kernels/, or LibTorch's own ops.
enum class OnGpu { kKernels, kLibTorch };

inline void check_operand(const char* op, const Named& operand, const Named& first,
                          OnGpu by = OnGpu::kKernels) {
  const at::Tensor& t = operand.tensor;
  TORCH_CHECK(t.layout() == at::kStrided, op, ": Expected ", operand.name,
              " to be a dense tensor, but got layout ", t.layout());
  TORCH_CHECK(is_floating_dtype(t.scalar_type()), op, ": Expected ", operand.name,
              " to be Float, Half, BFloat16 or Double, but got ", t.scalar_type());
  TORCH_CHECK(t.device() == first.tensor.device(), op,
              ": Expected all tensors to be on the same device, but ", first.name, " is on ",
              first.tensor.device(), " and ", operand.name, " is on ", t.device());
  const bool is_served = by == OnGpu::kLibTorch || kernels::has_device_kernels();
  TORCH_CHECK_NOT_IMPLEMENTED(
      t.is_cpu() || t.is_meta() || (t.is_cuda() && is_served), op, ": Expected ", operand.name,
      is_served ? " to be on the CPU or a CUDA device, but got " : " to be on the CPU, but got ",
      t.device(), t.is_cuda() ? ", and the kernels for it are not loaded" : "");
}

// The first is there; each of the others may not be.
inline void check_operands(const char* op, std::initializer_list<Named> operands,
                           OnGpu by = OnGpu::kKernels) {
  for (const Named& operand : operands) {
    TORCH_CHECK(operand.tensor.defined() || &operand != operands.begin(), op, ": Expected ",
                operand.name, ", but got None");
    if (operand.tensor.defined()) check_operand(op, operand, *operands.begin(), by);
  }
}

inline void check_list(const char* op, const char* name, at::TensorList list, const Named& first) {
  for (size_t i = 0; i < list.size(); ++i)
    check_operand(op, {std::string(name) + "[" + std::to_string(i) + "]", list[i]}, first);
}

inline void check_eps(const char* op, double eps) {
  TORCH_CHECK(eps > 0, op, ": Expected eps to be greater than 0, but got ", eps);
}

inline void check_compute(const char* op, const Optional<at::ScalarType>& compute) {
  TORCH_CHECK(!compute || *compute == at::kBFloat16 || *compute == at::kFloat, op,
              ": Expected compute to be Float or BFloat16, but got ", *compute);
}

// ---- the dispatcher

template <class Signature>
auto find_op(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

}  // namespace dtypecheck::operators
