// user_code.h: whose code an address is.
#pragma once

#include <cstdint>

#include "tracer/native/native_sites.h"

namespace dtypecheck::tracer::native {

// Reads the program's path; before that, a program is never taken for the Python interpreter.
void learn_program_path();

// Code in no file (a JIT's) is a library's.
enum class Owner { kLibrary, kUser, kInterpreter };
Owner owner_of(uint64_t return_address);  // cold

// From here on, user code is that of extensions alone (native_sites.h).
void count_extensions_alone();
// A library that is loaded is an extension. Cold.
bool is_extension_loaded();

}  // namespace dtypecheck::tracer::native
