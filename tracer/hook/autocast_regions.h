// autocast_regions.h: where the autocast regions that are open in a thread were entered.
#pragma once

#include <cstdint>

#include "tracer/hook/thread_state.h"

namespace dtypecheck::tracer {

// From stage 1: at::autocast::increment_nesting() or decrement_nesting() is about to run, which
// torch.autocast calls at its beginning and end (a C++ program does so itself, or not at all).
void on_autocast(int entered);

// Hot. The innermost region of this thread as trace::FileHeader::autocast_sites counts them from 1;
// 0: none, or not known.
inline uint8_t autocast_region(const ThreadState* state) {
  return state->region_depth > 0
             ? state->regions[(state->region_depth - 1) % ThreadState::kMaxRegions]
             : 0;
}

// In a forked child, whose file has no regions yet.
void forget_autocast_regions();

}  // namespace dtypecheck::tracer
