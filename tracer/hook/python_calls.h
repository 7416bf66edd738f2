// python_calls.h: what Python makes tensors of (python/factories.h), and what NumPy wraps around
// (python/numpy_loops.h), as op calls: "python::torch.tensor", "python::numpy.subtract".
#pragma once

#include "tracer/hook/op_table.h"

namespace dtypecheck::tracer {

// Cold; called until they are done, which is once torch and NumPy are imported.
void watch_factories();
void watch_numpy();

// What stands for a function of Python's where an op is asked for.
const OpInfo& python_op();

}  // namespace dtypecheck::tracer
