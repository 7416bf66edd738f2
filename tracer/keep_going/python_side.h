// python_side.h: what --keep-going needs of CPython. Refusals that Python code or a binding raises
// before any op is called (nn.LSTM's check, GradScaler, the grouping of the optimizers, p.grad = …)
// are let through by functions of ours that stand around them (python_refusals.inc), and are
// reported here. For `preflight` torch.load maps weights (mapped_weights.inc).
#pragma once

#include <atomic>
#include <exception>
#include <string>

#include "tracer/keep_going/call.h"

namespace dtypecheck::tracer::keep_going {

// A compiler traces with tensors that hold nothing: it is to see the refusal. It then leaves the
// function to be run as it is.
bool is_compilers_call(const Call& call);

// The Python error that a C++ exception carries, in the error indicator. Left there it would be
// raised later, by a call that succeeded.
class PythonError {
 public:
  // False where it is none that a dtype may be the reason of; it then stays where it is.
  bool fetch();
  void restore();
  const std::string& message() const { return message_; }
  const std::string& type() const { return type_; }

  PythonError() = default;
  ~PythonError();
  PythonError(const PythonError&) = delete;
  PythonError& operator=(const PythonError&) = delete;

 private:
  void* parts_[3] = {nullptr, nullptr, nullptr};
  std::string message_, type_;
};

// What a kernel in Python raised, as torch.library.custom_op registers one: pybind11 has it then,
// and the error indicator is empty. False where a dtype cannot be the reason.
bool is_kernels_refusal(const std::exception& error, std::string* type, std::string* message);

extern std::atomic<int> python_side_missing;  // attempts left
inline bool python_side_is_missing() {
  return python_side_missing.load(std::memory_order_relaxed) > 0;
}
// Once torch is imported; a torch that it does not know stays as it is.
void install_python_side(ThreadState* state);
void forget_python_side();

}  // namespace dtypecheck::tracer::keep_going
