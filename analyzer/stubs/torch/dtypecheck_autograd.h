// Functions with a backward of their own, the modes of a thread, and calls through the dispatcher.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

namespace c10 {
struct SymInt {
  SymInt(int64_t value);
  operator int64_t() const;
  int64_t expect_int() const;
  int64_t guard_int(const char* file, int64_t line) const;
};
using SymIntArrayRef = ArrayRef<SymInt>;
template <typename T, unsigned Size>
struct SmallVector : std::vector<T> {
  using std::vector<T>::vector;
  template <typename Range>
  explicit SmallVector(const Range& range);
};
template <typename Range>
int64_t multiply_integers(const Range& range);
template <typename Iterator>
int64_t multiply_integers(Iterator begin, Iterator end);

}  // namespace c10
namespace at::autocast {
bool is_autocast_enabled(c10::DeviceType device);
void set_autocast_enabled(c10::DeviceType device, bool on);
bool is_enabled();
bool is_cpu_enabled();
void set_enabled(bool on);
void set_cpu_enabled(bool on);
c10::ScalarType get_autocast_dtype(c10::DeviceType device);
void set_autocast_gpu_dtype(c10::ScalarType dtype);
void set_autocast_cpu_dtype(c10::ScalarType dtype);
void set_autocast_dtype(c10::DeviceType device, c10::ScalarType dtype);
void set_autocast_cache_enabled(bool on);
void clear_cache();
int increment_nesting();
int decrement_nesting();
}  // namespace at::autocast
namespace c10 {
struct GradMode {
  static bool is_enabled();
  static void set_enabled(bool on);
};
struct AutoGradMode {
  explicit AutoGradMode(bool on);
};
struct InferenceMode {
  explicit InferenceMode(bool on = true);
  static bool is_enabled();
};

template <typename Signature>
struct TypedOperatorHandle;
template <typename Result, typename... Arguments>
struct TypedOperatorHandle<Result(Arguments...)> {
  Result call(Arguments... arguments) const;
  template <typename Keys>
  Result redispatch(Keys keys, Arguments... arguments) const;
};
struct OperatorHandle {
  template <typename Signature>
  TypedOperatorHandle<Signature> typed() const;
};
struct Dispatcher {
  static Dispatcher& singleton();
  OperatorHandle findSchemaOrThrow(const char* name, const char* overload);
};
}  // namespace c10

namespace at {
using c10::AutoGradMode;
using c10::GradMode;
using c10::SmallVector;
using c10::SymInt;
using c10::SymIntArrayRef;
using DimVector = c10::SmallVector<int64_t, 5>;
using OptionalDeviceGuard = cuda::OptionalCUDAGuard;
struct AutoDispatchBelowAutograd {};
struct AutoDispatchBelowADInplaceOrView {};
struct AutoNonVariableTypeMode {
  explicit AutoNonVariableTypeMode(bool on = true);
};
}  // namespace at

namespace torch::autograd {
using Variable = at::Tensor;
using variable_list = std::vector<Variable>;
using tensor_list = std::vector<at::Tensor>;
struct AutogradContext {
  std::unordered_map<std::string, c10::IValue> saved_data;
  void save_for_backward(variable_list tensors);
  variable_list get_saved_variables() const;
  void mark_dirty(const variable_list& inputs);
  void mark_non_differentiable(const variable_list& outputs);
  void set_materialize_grads(bool on);
  bool needs_input_grad(size_t output) const;
};
template <typename T>
struct Function {
  template <typename Self = T, typename... Arguments>
  static auto apply(Arguments&&... arguments)
      -> decltype(Self::forward(static_cast<AutogradContext*>(nullptr),
                                std::forward<Arguments>(arguments)...));
};
}  // namespace torch::autograd
