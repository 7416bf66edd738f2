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

// An autograd node begins.
void note_backward(ThreadState* state);

// Scope USER_SCOPE: Optimizer.step, DataLoader, the user's own. These stay on while --steady looks away.
std::unique_ptr<at::ObserverContext> on_scope_start(const at::RecordFunction& fn);
void on_scope_end(const at::RecordFunction& fn, at::ObserverContext* context);

void flush_events(ThreadState* state);
void flush_all_events();

// The callbacks that --steady switches.
void set_switched_callbacks(at::CallbackHandle ops, at::CallbackHandle nodes);
void wake_up();  // a throw: look again

}  // namespace tracer
}  // namespace dtypecheck
