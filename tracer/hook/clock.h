// clock.h: how long ops take: of one cast in sixteen always, of each op of the first steps with a
// time line (trace --timeline). Two looks at the clock are 50 ns, more than all else that a call
// costs, so no other op is timed.
#pragma once

#include <cstdint>

#include "tracer/hook/thread_state.h"

namespace dtypecheck::tracer {

uint64_t now_ns();  // since 1970: the processes of a machine, and CUPTI, agree on it

// Of a signature that is a cast; null for any other.
trace::CastCounters* cast_counters(trace::SignatureRecord* signature);

bool is_timed(const Frame& frame);
void note_time(ThreadState* state, const Frame& frame);  // frame.began_ns is set

void start_timeline();  // for the first steps from now on, where one is wanted
bool is_in_timeline();  // whether what is launched now belongs to it

}  // namespace dtypecheck::tracer
