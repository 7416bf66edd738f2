// python_calls.h: what Python makes tensors of (python/factories.h), and what NumPy wraps around
// (python/numpy_loops.h), as op calls: "python::torch.tensor", "python::numpy.subtract".
#pragma once

#include <atomic>
#include <vector>

#include "tracer/hook/op_table.h"
#include "tracer/hook/thread_state.h"

namespace dtypecheck::tracer {

// Cold; called until they are done, which is once torch and NumPy are imported.
void watch_factories();
void watch_numpy();

// True until it is known that the first op of the process is in none of the functions above, or
// what it is in has returned: that was called before anything could be watched.
extern std::atomic<bool> may_be_in_first_call;
// The frame of that function, where it is what calls the op; else null. Hot where it may be.
Frame* first_call_of(ThreadState* state, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs);
// What an op that it called gave.
void note_result_in_first_call(ThreadState* state, const std::vector<c10::IValue>& outputs);
// It is over: what it gave has its origin, and it has its record.
void end_first_call();
void forget_first_call();  // in a forked child

// What stands for a function of Python's where an op is asked for.
const OpInfo& python_op();

}  // namespace dtypecheck::tracer
