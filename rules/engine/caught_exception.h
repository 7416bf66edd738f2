// caught_exception.h: whether an exception ended the program or was caught in it.
#pragma once

#include "core/run.h"

namespace dtypecheck::rules {

// The call threw, and the program went on all the same: a try/except, a fallback, pytest.raises. A
// process tells by its exit status and by the exception that left it uncaught; where it tells
// neither (it was killed, or recorded by an earlier tracer), nothing was caught.
bool was_caught(const Run& run, const OpCall& call);

}  // namespace dtypecheck::rules
