// health.h: trace --health: what became of the numbers of each module over the run, as rows of
// points (trace/format.h). In some steps, at intervals that grow, all of what a module gave, of the
// gradients and the states that an optimizer applies and of the weights that it steps is summed up:
// in place on a CPU, by the kernel of the digests on a GPU, without a wait.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// True where the options ask for it: "health", or "health=EVERY".
bool start_health(const char* options);

bool is_health_step(uint32_t step);  // hot

// Around an op, with --health.
void note_health_operands(ThreadState* state, const Frame& frame,
                          c10::ArrayRef<const c10::IValue> inputs);
void note_health_results(ThreadState* state, const Frame& frame,
                         const std::vector<c10::IValue>& outputs);

void note_health_step(uint32_t step);  // is over
void write_health();                   // the run is
void forget_health();                  // another file begins

}  // namespace dtypecheck::tracer
