// step_frames.h: whose work a call chain does. An optimizer's step may call the whole forward and
// backward pass (`step(closure)`, as Lightning does for every step), and a parameter may be stepped
// by a method that is not `step` (one at a time, in a hook of the backward pass). GIL held.
#pragma once

#include "tracer/python/frames.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

Work work_of(const Frames& frames);

}  // namespace dtypecheck::tracer::python
