// requests.h: who asked for a tensor in 16 bits, written down as a fact when such a line is first
// met outside of training (tracer/python/requests.h has what is in it):
//
//   "asked Half /home/me/train.py:40"   what the frames around a cast or factory held
//   "asked default Half"                the same, where the default dtype was set
#pragma once

#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// The dtype that a call asks for: its own argument, or the default of a factory that was given
// none.
c10::ScalarType asked_dtype(const OpInfo& op, c10::ArrayRef<const c10::IValue> inputs);

// Cold: of an op call that is seen for the first time.
void note_request(const Frame& frame, c10::ArrayRef<const c10::IValue> inputs, bool in_autocast);
void watch_default_dtype();
void forget_requests();  // another file begins

}  // namespace dtypecheck::tracer
