// call_text.h: what a line of a program calls an operand. A trace says that mse_loss got a Half
// `target` at train.py:40; a cure has to say what stands there: `batch["noise"]`. Whatever is not
// the only one of its kind on the line is not answered: words are better than a wrong name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/op_call.h"
#include "rules/engine/code_line.h"

namespace dtypecheck::rules {

// What stands on a line, and what takes its place. `old_text` is empty where the line has it twice.
struct Patch {
  std::string old_text;
  std::string new_text;
};

// The expression with a suffix: "(a + b).to(torch.float16)", or, where the line has the expression
// twice, with the call around it: "self.fc(x.to(torch.float16))". Of several each gets it:
// "f(x.half(), a) - f(x.half(), b)".
Patch with_suffix(const CodeLine& line, Span expression, std::string_view suffix);
Patch with_suffix(const CodeLine& line, const std::vector<Span>& spans, std::string_view suffix);

// The operand of the call in this line: an argument, a side of an operator, what is assigned to a
// subscript. Several where the line has such a call several times, each with the same text there.
std::vector<Span> operand_text(const CodeLine& line, const OpCall& call, const Operand& operand);

// The line has what stands there somewhere else, too, where another call may get it.
bool stands_again(const CodeLine& line, const std::vector<Span>& spans);

// The operand of a call that is the same tensor as this one of another call.
const Operand* same_tensor(const OpCall& call, const Operand& operand);

// What a module is called with on this line, for an operand of an op inside of it; which module is
// told: the one of the op or one around it, "unet" of "unet.conv_in".
struct ModuleInput {
  Span argument;
  std::string keyword;  // of the argument, where it has one
  std::string module;
  bool is_only;  // the module is called with nothing else
};
// `made`: what the line binds that made the operand.
std::optional<ModuleInput> module_input(const CodeLine& line, const OpCall& call,
                                        const Operand& operand,
                                        const std::vector<std::string>& made = {});

// The variables that the line gives a value to: "for x, y in loader:", "a, b = f()". None where it
// gives one to anything else.
std::vector<std::string> names_bound(const CodeLine& line);

// The call on this line that made the tensor: "torch.zeros(4)" of aten::zeros.
std::optional<Span> made_text(const CodeLine& line, const OpCall& maker);

// Where the line asks for one dtype: with what asks for the other in its place, ".half()" with
// ".float()", "torch.float16" with "torch.float32".
std::optional<Patch> other_dtype(const CodeLine& line, Dtype dtype, Dtype instead);

// The tensor that a method is called on: "x" of "x.numpy()".
std::optional<Span> called_on(const CodeLine& line, std::string_view method);

// What the line inverts: "mask" of "~mask".
std::optional<Span> inverted(const CodeLine& line);

// The argument that is this number.
std::optional<Span> number_text(const CodeLine& line, double value);

// "a = a / 2" of "a /= 2", "a = a.sqrt()" of "a.sqrt_()"; "a ^ b" of "a - b"; "~a" of "-a" and of
// "1 - a".
std::optional<Patch> not_in_place(const CodeLine& line, const OpCall& call);
std::optional<Patch> other_sign(const CodeLine& line, const OpCall& call, std::string_view instead);
std::optional<Patch> inverse(const CodeLine& line, const OpCall& call);

// "self.net[2].weight" of "self.net.2.weight": what Python calls a module or parameter.
std::string python_path(std::string_view path);

}  // namespace dtypecheck::rules
