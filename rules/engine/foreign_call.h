// foreign_call.h: a call of a function outside LibTorch, such as an extension's, which refuses a
// dtype itself, outside of the dispatcher. The trace then has the local variables of the calling
// Python function as operands; the line says which of them the call may get.
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

// If the interpreter recorded no extent, the call is what the line assigns or returns, or the whole
// line.
ForeignCall foreign_call(const LineText& line_text, const OpCall& call);

}  // namespace dtypecheck::rules
