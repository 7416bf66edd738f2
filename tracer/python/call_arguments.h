// call_arguments.h: what the innermost frame of this thread is handing to C at this moment. The
// interpreter keeps the arguments of a call, and the operands of an operator, on the frame's value
// stack until it has returned; the bytecode tells where.
#pragma once

#include <string>
#include <vector>

#include "tracer/python/python_api.h"
#include "tracer/python/python_sites.h"

namespace dtypecheck::tracer::python {

struct HandedOver {
  struct Value {
    std::string keyword;  // "" of one by position
    Object* object;       // borrowed, for as long as the call lasts
  };
  HandedTensors::To kind = HandedTensors::To::kFunction;
  std::vector<Value> values;
};

// GIL held. False where it is not known. Runs Python code of ours and of the standard library's
// dis.
bool find_handed_over(HandedOver* out);

}  // namespace dtypecheck::tracer::python
