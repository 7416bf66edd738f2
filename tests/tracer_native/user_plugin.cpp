// A user's library that is opened at run time.
#include "tests/tracer_native/observer.h"

extern "C" __attribute__((noinline)) void plugin_step(void* observed) {
  fake_op(observed, 16, 0, kPlain);
  asm volatile("");  // no tail call: this frame has to stand on the stack
}
