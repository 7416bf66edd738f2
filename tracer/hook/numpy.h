// numpy.h: what NumPy wraps around (python/numpy_loops.h), as op calls.
#pragma once

namespace dtypecheck {
namespace tracer {

// Cold; called until it is done, which is once NumPy is imported.
void watch_numpy();

}  // namespace tracer
}  // namespace dtypecheck
