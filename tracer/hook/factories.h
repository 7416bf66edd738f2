// factories.h: what Python makes tensors of (python/factories.h), as op calls.
#pragma once

#include "tracer/hook/op_table.h"

namespace dtypecheck {
namespace tracer {

// Cold; called until it is done, which is once torch is imported.
void watch_factories();

// What stands for a function of Python's where an op is asked for.
const OpInfo& python_op();

}  // namespace tracer
}  // namespace dtypecheck
