// foreign_call.h: a function that a line calls and that is none of LibTorch's, as an extension's:
// it refuses a dtype by itself, outside of the dispatcher. A trace then has the variables of the
// Python function around it for operands; the line says which of them the call may be given.
#pragma once

#include <string>
#include <vector>

#include "core/line_text.h"
#include "core/op_call.h"

namespace dtypecheck::rules {

struct ForeignCall {
  std::string callee;                     // "my_extension.scale"; "" where it is no such call
  std::vector<const Operand*> variables;  // that stand on the line, each of one dtype
};

// Where no interpreter told the extent of the call it is what the line assigns, returns or is.
ForeignCall foreign_call(const LineText& line_text, const OpCall& call);

}  // namespace dtypecheck::rules
