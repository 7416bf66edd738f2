// numpy_loops.h: arithmetic of NumPy on integers of 8 to 32 bits, where it wraps around: 3 - 5 of
// bytes is 254; and its casts, where they lose as much. No op of LibTorch is called there, so
// ufuncs and ndarray.astype() are watched themselves.
//
// A ufunc holds an array of loops, one a dtype, and reads it at each call (legacy loops, in NumPy 1
// and 2). It is given a copy of that array with loops of ours, which look at some of the operands
// before they call the original, as that may write over them. What calls the ufunc from Python is
// replaced too (PEP 590): it says which call a loop belongs to, and tells of it with the GIL held,
// as a loop runs without. Results, errors and the ufunc object stay what they were.
#pragma once

#include <cstddef>
#include <vector>

#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

struct WrappedCall {
  const char* function;      // "numpy.subtract", the same pointer each time
  const char* dtype;         // of the arithmetic, in torch's words; the same pointer each time
  double from = 0, to = 0;   // the first that was seen: -2, and 254
  Object* const* arguments;  // by position, as many as the ufunc has inputs
  size_t count;
  Object* result;
};

struct NumpyWatcher {
  bool (*looks)();  // hot
  // Cold, GIL held. `place` is an address in this thread's stack.
  void (*wrapped)(const void* place, const WrappedCall& call);
};
// True when there is nothing left to be done: they are watched, or cannot be. False as long as
// NumPy is not imported. Takes the GIL.
bool watch_numpy(const NumpyWatcher& watcher);

// Of numpy_casts.cpp, for watch_numpy().
void watch_casts(Object* module_names, const NumpyWatcher& watcher);
// Hot. How many elements of a call are looked at: fewer once there were many calls.
std::ptrdiff_t elements_to_look_at();
// From one of them to the next: odd, so that all channels of a picture have some.
inline std::ptrdiff_t step_between(std::ptrdiff_t count, std::ptrdiff_t most) {
  return count <= most ? 1 : count / most | 1;
}

// Its operands, and behind them the result: arrays, and numbers. Without what is neither.
std::vector<LocalTensor> arrays_of(const WrappedCall& call);

}  // namespace dtypecheck::tracer::python
