// user_code.h: whose code an address is.
#pragma once

#include <cstdint>

#include "tracer/native/native_sites.h"

namespace dtypecheck {
namespace tracer {
namespace native {

// Reads the program's path; before that, a program is never taken for the Python interpreter.
void learn_program_path();

// Cold. False for code in no file (a JIT's), too.
bool is_user_address(uint64_t return_address);

}  // namespace native
}  // namespace tracer
}  // namespace dtypecheck
