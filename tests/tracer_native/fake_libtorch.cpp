#include <alloca.h>

#include "tests/tracer_native/observer.h"

#define FRAME __attribute__((noinline))

// The array stays on the stack, with whatever an earlier, deeper call left there.
static void keep(void* array) { asm volatile("" : : "r"(array) : "memory"); }

FRAME static void moving(void* observed, int bytes) {
  void* array = alloca(bytes + 16);
  keep(array);
  observe(observed);
  keep(array);
}

FRAME static void aligned(void* observed) {
  alignas(64) char array[64];
  keep(array);
  observe(observed);
  keep(array);
}

FRAME static void aligned_moving(void* observed, int bytes) {
  alignas(64) char array[64];
  void* moving = alloca(bytes + 16);
  keep(array);
  keep(moving);
  observe(observed);
  keep(array);
}

template <int kBytes>
FRAME static void padded(void* observed, int moving_bytes, Frames frames) {
  char hole[kBytes];
  keep(hole);
  if (frames == kPlain) observe(observed);
  if (frames == kMoving) moving(observed, moving_bytes);
  if (frames == kAligned) aligned(observed);
  if (frames == kAlignedMoving) aligned_moving(observed, moving_bytes);
  keep(hole);
}

extern "C" FRAME void fake_op(void* observed, int pad_bytes, int moving_bytes, Frames frames) {
  if (pad_bytes <= 16) {
    padded<16>(observed, moving_bytes, frames);
  } else if (pad_bytes <= 1024) {
    padded<1024>(observed, moving_bytes, frames);
  } else {
    padded<4096>(observed, moving_bytes, frames);
  }
  keep(observed);
}
