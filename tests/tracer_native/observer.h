// observer.h: the tests' stand-ins for stage 2 (a library of ours that asks where it is called
// from) and for LibTorch (a library that lies between the user's line and stage 2).
#pragma once

#include <cstdint>
#include <vector>

// In libdtypecheck_observer.so.
struct Observed {
  uint64_t key = 0;
  uint64_t unwound_key = 0;  // what it has to be
  uint32_t limit_bytes = 1u << 20;
  std::vector<uint64_t> addresses;  // only with `unwinds`
  bool unwinds = false;
};
extern "C" void observe(void* observed);

// How a frame between the program and stage 2 moves its stack pointer.
enum Frames { kPlain, kMoving, kAligned, kAlignedMoving };

// In libtorch_cpu.so of the tests: calls observe() from some frames further down, with an array of
// pad_bytes (to 4096) on the way that nobody fills in, and moving_bytes of alloca with kMoving.
extern "C" void fake_op(void* observed, int pad_bytes, int moving_bytes, Frames frames);
