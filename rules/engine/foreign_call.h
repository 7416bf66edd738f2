// foreign_call.h: a function that a line calls and that is none of LibTorch's, as an extension's:
// it refuses a dtype by itself, outside of the dispatcher. A trace then has the variables of the
// Python function around it for operands; the line says which of them the call was given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/op_call.h"
#include "rules/engine/call_text.h"
#include "rules/engine/code_line.h"

namespace dtypecheck::rules {

struct ForeignCall {
  struct Argument {
    Span text;
    const Operand* operand;
  };
  std::string callee;  // "my_extension.scale"
  Span whole;
  std::vector<Argument> arguments;  // the tensors among them that the trace knows
};
std::optional<ForeignCall> foreign_call(const CodeLine& line, const OpCall& call);

// Each argument of the one dtype cast to the other: with what the call gives cast back, which is
// what the program computes in, and without, for what gives no tensor. None where no argument has
// the dtype, and for a statement that is the call alone: it writes what it is given.
std::vector<Patch> with_cast_arguments(const CodeLine& line, const ForeignCall& foreign, Dtype from,
                                       Dtype to);

}  // namespace dtypecheck::rules
