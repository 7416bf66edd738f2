// unseen.h: an op that --steady did not look at, and that throws.
#pragma once

#include "tracer/hook/thread_state.h"

namespace dtypecheck::tracer {

// Before the stack is unwound, with the exception's message in `state`. False where it is not known
// which op Python called, or with what.
bool record_unseen_throw(ThreadState* state);

}  // namespace dtypecheck::tracer
