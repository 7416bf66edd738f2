// late_error.h: CUDA tells what a kernel ended in at some later call, and a traceback names that
// one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/run.h"

namespace dtypecheck::reports {

// For the message of the exception that ended a process: that another op is to blame, and which may
// have been in flight. Empty for every other message.
std::string late_error_text(const Run& run, uint32_t process, std::string_view message);

}  // namespace dtypecheck::reports
