// phases.h: which part of training an op belongs to, which step it is; --steady decides here when
// to look away.
#pragma once

#include <cstdint>

#include "core/codes.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// Of an op that the program calls itself, `in_node`: in Python that an autograd node runs. What an
// op or an autograd node calls has its phase.
uint8_t phase_of(ThreadState* state, const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs,
                 int64_t sequence, uint32_t site, bool in_node);

// An op without gradients that writes what requires one: a weight, and not an average of its own.
bool writes_parameter(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs);

// At exit: the last step of a C++ program, after which autograd recorded nothing.
void finish_last_step();

// An autograd node begins.
void note_backward();

// Scope USER_SCOPE: Optimizer.step, DataLoader, the user's own.
void on_scope_start(ThreadState* state, const at::RecordFunction& fn);
void on_scope_end(ThreadState* state, const at::RecordFunction& fn);

void flush_events(ThreadState* state);
void flush_all_events();

// In a forked child, whose steps are counted anew.
void forget_steps();

// --steady looks at the next two steps: after a throw, and where a step does more than is usual.
void expect_news();

// --steady counts its steps without news anew: in a forked child.
void restart_quiet_steps();

}  // namespace dtypecheck::tracer
