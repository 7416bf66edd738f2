// call.h: a call of the dispatcher that is being tried.
#pragma once

#include <ATen/core/stack.h>

#include <cstring>
#include <typeinfo>

#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"
#include "tracer/keep_going/dtype_mix.h"
#include "tracer/keep_going/op_facts.h"
#include "tracer/keep_going/taint.h"

namespace dtypecheck::tracer::keep_going {

struct Call {
  const c10::OperatorHandle& op;
  c10::DispatchKeySet below;  // what the fallback hands it on with
  torch::jit::Stack* stack;
  ThreadState* state;
  const OpFacts& facts;
  DtypeMix mix;
  // As they came in: a kernel takes them off the stack.
  c10::SmallVector<c10::IValue, 12> arguments;
  size_t base;         // where they lie on it
  int64_t sequence;    // of the first autograd node that is made here
  uint32_t cause = 0;  // the repair that its operands come from
  uint32_t repairs_before;

  Call(const c10::OperatorHandle& operator_handle, c10::DispatchKeySet keys,
       torch::jit::Stack* arguments_on_top, ThreadState* thread, DtypeMix dtypes);

  void run() { op.redispatchBoxed(below, stack); }
  void put_back(Values values);  // on the stack, as it was before the call
  Values results() { return Values(stack->data() + base, stack->size() - base); }
  // The recorder's frame of this very call, or null where it is one that is not recorded by itself.
  Frame* own_frame() const;
  // Where it is reported: its own record, or that of the op around it. Null: nowhere.
  trace::SignatureRecord* record() const;
  uint32_t site() const;
  bool is_called_by_engine() const;  // in an autograd node, and not by Python that runs there
};

// LibTorch has oneDNN inside, whose exception is not among its headers.
inline bool is_onednn(const std::exception& error) {
  return std::strcmp(typeid(error).name(), "N4dnnl5errorE") == 0;
}

// Casts the operands of a call that failed, and calls again.
bool repair(Call& call);
// --fix: computes the call in Float, or in Double where an operand has that, and rounds once.
// False: it could not, and the arguments have to be put back.
bool serve(Call& call);
// As it was repaired before, without the exception. False: it was not, or it failed this time.
bool repair_as_before(Call& call);
// The call with its floating operands in that dtype; what it writes is rounded back, its results
// stay as they come.
void run_with_casts(Call& call, c10::ScalarType dtype);

}  // namespace dtypecheck::tracer::keep_going
