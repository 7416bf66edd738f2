// phases.h: which part of training an op belongs to, which step it is, and when --steady may look away.
#pragma once

#include <cstdint>

#include "core/codes.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck {
namespace tracer {

// Of an op that the program calls itself; what an op or an autograd node calls has its phase.
uint8_t phase_of(ThreadState* state, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs, int64_t sequence,
                 uint32_t site);

// At exit: the last step of a C++ program, after which autograd recorded nothing.
void finish_last_step();

// An autograd node begins.
void note_backward();

// Scope USER_SCOPE: Optimizer.step, DataLoader, the user's own.
void on_scope_start(ThreadState* state, const at::RecordFunction& fn);
void on_scope_end(ThreadState* state, const at::RecordFunction& fn);

void flush_events(ThreadState* state);
void flush_all_events();

// Adds our callback: the whole one, or while --steady looks away one that only hears of optimizer steps.
void start_looking();
void look_in_child();    // after fork, in the only thread: what others held is free, and its ops are new
bool wake_up();          // a throw: look again. True when it had looked away
void pause(bool paused); // for benchmarks, which compare with and without in one process

// True while we add a callback ourselves, which is no other observer.
bool is_adding_callback();

}  // namespace tracer
}  // namespace dtypecheck
