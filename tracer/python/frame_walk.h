// frame_walk.h: the switch of top() and walk(), and what cold code shares with them.
#pragma once

#include "tracer/python/code_class.h"

namespace dtypecheck::tracer::python {

// From now on top() and walk() read frames, laid out as `layout` says.
void start_walking();
// From now on only the calling thread's frames are read: the interpreter is about to free the
// others'.
void walk_only_in_this_thread();
void stop_walking();

// The nn.Module that a kModuleCall frame calls; null if that is not known.
const Object* module_called_in(const char* frame, CodeClass code_class);

}  // namespace dtypecheck::tracer::python
