// values.h: looks at values: integers that a conversion could not keep, a loss that is inf or NaN,
// and with --check-values all inf and NaN.
#pragma once

#include <vector>

#include "core/mask.h"
#include "tracer/hook/thread_state.h"
#include "tracer/hook/torch_compat.h"

namespace dtypecheck::tracer {

// True where the options ask for all inf and NaN: "check-values", or "check-values=95-100" for
// every call of these steps besides those that are looked at in any case.
bool read_value_checks(const char* options);

void look_at_inputs(ThreadState* state, Frame& frame, c10::ArrayRef<const c10::IValue> inputs);
void look_at_results(ThreadState* state, const Frame& frame,
                     const std::vector<c10::IValue>& outputs);

// Of an op that gives the program a number, or yes or no.
void look_at_read(ThreadState* state, const Frame& frame, const std::vector<c10::IValue>& outputs);

void forget_values();  // another file begins

}  // namespace dtypecheck::tracer
