// pretended.h: `dtypecheck preflight`: what a run on the pretended GPU (tracer/pretended/) writes
// into its trace, and its end after so many optimizer steps.
#pragma once

#include <cstdint>

namespace dtypecheck::tracer {

void write_pretended_facts();  // which GPU; at the start of a trace
void note_pretended_peak();    // memory reserved so far, where it grew

// At the first op after a step: where there were as many as were asked for, the process ends here,
// with status 0 and a whole trace.
void end_after_last_step();

// While it lives, a number that this thread reads back from the GPU is taken for so many; 0: for
// what lies there.
class CountReadBack {
 public:
  explicit CountReadBack(int64_t most);
  ~CountReadBack();
  CountReadBack(const CountReadBack&) = delete;
  CountReadBack& operator=(const CountReadBack&) = delete;

 private:
  int64_t before_;
};

}  // namespace dtypecheck::tracer
