// pretended.h: `dtypecheck preflight`: what a run on the pretended GPU (tracer/pretended/) writes
// into its trace, and its end after so many optimizer steps.
#pragma once

namespace dtypecheck::tracer {

void write_pretended_facts();  // which GPU; at the start of a trace
void note_pretended_peak();    // memory reserved so far, where it grew

// At the first op after a step: where there were as many as were asked for, the process ends here,
// with status 0 and a whole trace.
void end_after_last_step();

}  // namespace dtypecheck::tracer
