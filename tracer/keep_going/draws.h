// draws.h: --record-draws writes down what random ops draw on the CPU, and --replay gives the ops
// of another run these numbers in place of their own. Ops of the same name and sizes are taken in
// their order; a run in another dtype has the numbers rounded to it. One process of a rank does so:
// the first that draws.
#pragma once

#include "tracer/keep_going/call.h"

namespace dtypecheck::tracer::keep_going {

// "record-draws" among the options, and the folder in DTYPECHECK_REPLAY. False: neither.
bool read_draw_options(const char* options);

// In place of the call; the op only draws.
void run_draw(const c10::OperatorHandle& op, c10::DispatchKeySet below, torch::jit::Stack* stack,
              ThreadState* state);

void write_draw_fact();  // at the end: how many were given
void forget_draws();     // in a forked child, which draws its own

}  // namespace dtypecheck::tracer::keep_going
