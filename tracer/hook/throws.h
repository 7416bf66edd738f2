// throws.h: the message of an exception, caught as it is thrown.
#pragma once

#include "trace/format.h"
#include "tracer/hook/thread_state.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer {

// From stage 1's __cxa_throw, before unwinding: keeps the message for the op in flight.
void on_throw(void* object, void* type_info);

// The op of this signature ends by an exception.
void record_throw(ThreadState* state, trace::SignatureRecord* record);

// An exception leaves the Python program uncaught.
void on_uncaught(const python::Refusal& refusal);

// Writes a ThrowRecord unless this signature threw with this message before. `is_in_call`: this
// thread is in the call that throws, so that its caller is asked for.
void write_throw(trace::SignatureRecord* record, const char* message, const char* type,
                 bool is_in_call = false);

// In a forked child: nothing was written yet.
void forget_messages();

}  // namespace dtypecheck::tracer
