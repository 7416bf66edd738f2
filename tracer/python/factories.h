// factories.h: the functions of torch that make a tensor of what is none: torch.tensor([1.0]),
// torch.from_numpy(array). At most an allocation tells of them, and nothing tells of what they were
// given, so they are watched themselves.
//
// Each is a C function. A function of ours is called in its place, which calls the original and
// returns what it returned. The Python object stays the same one and keeps its hash, for those who
// have a name for it, for torch.jit, torch._dynamo and torch.device as a context, which looks it up
// in a set; only from_numpy, which CPython calls by the pointer that it hashes, gets another. No
// Python code runs. GIL held throughout.
#pragma once

#include <cstdint>
#include <string>

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {

struct FactoryWatcher {
  // Hot. `place` is an address in this thread's stack, above those of all that the function calls.
  // False: nothing is to be told of this call.
  bool (*enter)(const void* place);
  // Hot. With the TensorImpl that came out; null where none did, or none that can be read. The
  // function's name ("torch.tensor") is the same pointer each time.
  void (*leave)(const void* place, const char* function, Object* source, const void* impl);
};
// True when there is nothing left to be done: they are watched, or cannot be. False as long as
// torch is not imported. Takes the GIL.
bool watch_factories(const FactoryWatcher& watcher);

// The dtype, in torch's words, of an array of NumPy's or a number; "" of anything else.
std::string dtype_of_value(Object* value);

// Hot. Other for sources that source_of() tells apart by type or dtype.
uint64_t word_of_source(Object* source);

// What a tensor was made of: "ndarray", "float64" (a scalar of numpy's), "list[float]"; and the
// dtype of its values, in torch's words. Both empty when they are not all of one type.
struct Source {
  std::string type;
  std::string dtype;
};
Source source_of(Object* source);

// The first op of a process may be that of a call which began before anything could be watched.
struct FactoryCall {
  const char* function = nullptr;  // "torch.tensor", as FactoryWatcher has it; null: none of them
  uint64_t word = 0;               // word_of_source()
  Source source;
};
// What this thread's innermost frame calls at this moment. After watch_factories(); takes the GIL.
FactoryCall factory_being_called();

// What integers cut off of Python's floats, or of a small array: sums of squares.
struct Fractions {
  double first = 0;  // number with a fraction
  double cut = 0, size = 0;
  std::ptrdiff_t count = 0;

  // A number with a fraction, where what is cut off of all is a quarter of their size or more. 0:
  // there is none, or there are fewer than 16.
  double lost() const;
};
// Adds what casting the source to integers cuts off. False for what is no float, list of floats or
// array of a few.
bool add_fractions(Object* source, Fractions& sum);

}  // namespace dtypecheck::tracer::python
