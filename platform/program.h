// program.h: the program to be traced: where it lies, and what keeps a library from being preloaded
// into it.
#pragma once

#include <string>
#include <vector>

namespace dtypecheck {

// The path that exec would take for `name` (PATH is searched for one without a slash). Throws
// InputError with the way out when it is not there, a folder, not executable or for another
// processor.
std::string find_program(const std::string& name);

// Why LD_PRELOAD will not work in it: static, set-user-id, 32-bit, musl. Empty when nothing speaks
// against it; a script is judged by nothing, since its interpreter is the program.
std::string why_not_traceable(const std::string& path);
// True where a library that does not fit ends the program before it begins: it has to be started
// without.
bool dies_of_preload(const std::string& path);

// Whether a program that is started by this path and these arguments may come to run LibTorch, as
// far as both tell: it is linked to it, is Python or a script for it, or is told to start one of
// them.
bool may_run_libtorch(const std::string& path, const std::vector<std::string>& arguments);

}  // namespace dtypecheck
