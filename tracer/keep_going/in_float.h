// in_float.h: --in-float. The modules that it names compute in Float: from the call of one to its
// end, each op takes its operands in 16 bits cast to Float and gives its result in Float, autocast
// is off, and a cast to 16 bits is one to Float. What the module gives at its end is rounded once,
// to the dtype that the program would have had; casts go through autograd, so that the backward
// pass is in Float too. It changes the program's results, and is meant to.
//
// Hooks of torch.nn tell where a module begins and ends (in_float.inc); the tracer's own names tell
// which it is. In what a compiler has compiled there is neither.
#pragma once

#include "tracer/keep_going/call.h"

namespace dtypecheck::tracer::keep_going {

// "in-float=net.blocks.0+net.head" among the options; false where it is not.
bool read_in_float(const char* options);
// As the option has them.
const std::string& modules_in_float();

// Of the calls of a thread inside of such a module; null outside.
struct FloatRegion;

void run_in_float(Call& call);

// Python's side: once torch is imported.
bool watch_modules_in_float();

}  // namespace dtypecheck::tracer::keep_going
