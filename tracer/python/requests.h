// requests.h: who asked for 16 bits. When a cast or a factory makes a tensor in Half or BFloat16,
// the frames around it still hold what led there: the argument of the call, the option, the field
// of a configuration. They are written down as they are; what of them counts is for the report to
// say.
//
// One line a frame, the innermost first, of the user's code and of libraries, but not of torch's:
//
//   /home/me/train.py:40 <tab> main <tab> args.precision=16-true <tab> dtype=torch.float16
#pragma once

#include <string>

namespace dtypecheck::tracer::python {

// Of the calling thread; where none of the user's own code is in it, as in a loader's thread, also
// of the main thread. `place` gets the line that a site of this thread has first, "train.py:40"; ""
// when nothing is known. Cold: takes the GIL, and runs no Python code.
std::string requests_here(std::string* place);

// Calls `seen` when the program sets the default dtype, with the GIL held. False where this torch
// has no such function.
bool watch_default_dtype(void (*seen)());

}  // namespace dtypecheck::tracer::python
