// known_values.h: `dtypecheck preflight`: the few values that a program's control flow needs, on a
// GPU that computes nothing (tracer/pretended/).
//
// Device memory is address space of this process, so a small tensor on the GPU can be looked at as
// one on the CPU. An op of which all operands are known and small is called once more on such, and
// its results are written into the results' memory; what comes of unknown operands is a neutral
// number: 1, and 0 of integers and bools. What is large is left alone, on the CPU too: filling or
// copying into a large tensor of floats is left out.
#pragma once

#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer::keep_going {

// How the op itself is called: as it is, or repaired where it refuses.
using RunOp = void(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                   torch::jit::Stack* stack, ThreadState* state);

// Runs the call that lies on the stack.
void call_on_pretended_gpu(const c10::OperatorHandle& op, c10::DispatchKeySet below,
                           torch::jit::Stack* stack, ThreadState* state, RunOp* run_op);

// A small tensor of the pretended GPU whose values are what the program computed.
bool has_known_values(const c10::TensorImpl* impl);

void forget_known_values();  // in a forked child

}  // namespace dtypecheck::tracer::keep_going
