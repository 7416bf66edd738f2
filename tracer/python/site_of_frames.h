// site_of_frames.h: the site that a call chain stands for. GIL held.
#pragma once

#include "tracer/python/frames.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

Site site_of(const Frames& frames);

}  // namespace dtypecheck::tracer::python
