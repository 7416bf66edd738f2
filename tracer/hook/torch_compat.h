// torch_compat.h: the one place that knows how LibTorch's versions differ, from 1.13 on.
// tracer/hook and tracer/keep_going, which alone in the tracer include ATen, do so through it; they
// are compiled once per LibTorch minor and C++ ABI.
#pragma once

#ifndef NDEBUG
// RecordFunction has one member more without it, and every inputs() would fail an internal
// assertion.
#error "stage 2 must be compiled with NDEBUG, as the LibTorch that it goes into was"
#endif

#include <ATen/ATen.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/core/GradMode.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/function.h>
#include <torch/version.h>

#define DTYPECHECK_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) ||             \
   (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

namespace dtypecheck::tracer {

inline at::ScalarType autocast_dtype(c10::DeviceType device) {
#if DTYPECHECK_TORCH_AT_LEAST(2, 4)
  return at::autocast::get_autocast_dtype(device);
#else
  return device == c10::DeviceType::CPU ? at::autocast::get_autocast_cpu_dtype()
                                        : at::autocast::get_autocast_gpu_dtype();
#endif
}

// RecordFunction::step_callbacks_ is private, but the explicit instantiation of a template may name
// it.
namespace access {
using StepCallbacksMember = at::StepCallbacks at::RecordFunction::*;
StepCallbacksMember step_callbacks();
template <StepCallbacksMember member>
struct Grant {
  friend StepCallbacksMember step_callbacks() { return member; }
};
template struct Grant<&at::RecordFunction::step_callbacks_>;

// OperatorHandle::operatorDef_->op.is_observed_, which the dispatcher asks before it makes a
// RecordFunction.
template <auto definition, auto observed>
struct GrantObserved {
  friend const bool& is_observed(const c10::OperatorHandle& op) {
    return ((op.*definition)->op).*observed;
  }
};
const bool& is_observed(const c10::OperatorHandle& op);
template struct GrantObserved<&c10::OperatorHandle::operatorDef_,
                              &c10::impl::OperatorEntry::is_observed_>;
}  // namespace access

// The Python object of a tensor, or null. Its keeper was renamed more than once.
template <typename Slot>
auto object_in(const Slot& slot, int) -> decltype(static_cast<const void*>(slot.load_pyobj())) {
  return slot.load_pyobj();
}
template <typename Slot>
auto object_in(const Slot& slot, long)
    -> decltype(static_cast<const void*>(slot._unchecked_untagged_pyobj())) {
  return slot._unchecked_untagged_pyobj();
}
inline const void* object_in(...) { return nullptr; }

template <typename Impl>
auto python_object_of(const Impl* impl, int) -> decltype(object_in(*impl->pyobj_slot(), 0)) {
  return object_in(*impl->pyobj_slot(), 0);
}
inline const void* python_object_of(const void*, long) { return nullptr; }
inline const void* python_object(const c10::TensorImpl* impl) { return python_object_of(impl, 0); }

// This thread runs an autograd node. Before 2.2 it does not say so.
inline bool is_in_node() {
#if DTYPECHECK_TORCH_AT_LEAST(2, 2)
  return torch::autograd::get_current_node() != nullptr;
#else
  return false;
#endif
}

// Spares an op that is of no interest the copy of its results (30 to 50 ns), unless another
// observer wants them. The dispatcher asks after the start callbacks ran, which is when this is
// called.
inline void skip_outputs(const at::RecordFunction& fn) {
  at::StepCallbacks& step = const_cast<at::RecordFunction&>(fn).*access::step_callbacks();
  if (step.callbacks_.size() == 1) step.needs_outputs_ = false;
}

}  // namespace dtypecheck::tracer
