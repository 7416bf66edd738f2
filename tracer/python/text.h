// text.h: reads a Python string without the GIL. Strings are immutable, so plain loads do; which
// bits say how a string is stored differs by version, and is learnt at start from strings that we
// make ourselves.
#pragma once

#include <cstddef>
#include <string>

#include "tracer/python/python_api.h"

namespace dtypecheck::tracer::python {

// GIL held; false when the strings made for it do not read back as they were written.
bool learn_text_layout();

// UTF-8 into `out`, cut at `room` bytes; returns the bytes written, or -1 when it is no string that
// can be read. No GIL, no allocation.
ptrdiff_t read_text(const Object* text, char* out, size_t room);

// The same for cold code; empty when it cannot be read.
std::string text_of(const Object* text);

}  // namespace dtypecheck::tracer::python
