#include "rules/engine/foreign_call.h"

#include <string_view>

#include "ops/ops.h"
#include "platform/text.h"
#include "rules/engine/formatting.h"

namespace dtypecheck::rules {

// What raised was called by the user's own line: below it there is no Python.
static bool is_raised_below(const OpCall& call) {
  return ops::is_python(call.op) && !call.site.line.function.empty() &&
         std::string_view(call.op).substr(ops::kPython.size()) == call.site.line.function;
}

ForeignCall foreign_call(const LineText& line_text, const OpCall& call) {
  const SourceLine& line = call.site.line;
  if (!is_raised_below(call) || is_in_cpp(call)) return {};
  const std::string text = line_text(line.file, line.line);
  const std::string_view statement = trimmed(text);
  // "raise TypeError(…)" and "assert is_float(x)" are the program's own refusal.
  if (statement.starts_with("raise ") || statement.starts_with("assert ")) return {};
  std::string_view rest = statement;
  if (line.extent.column > 0) {
    rest = std::string_view(text).substr(std::min<size_t>(line.extent.column - 1, text.size()));
  } else if (const size_t set = rest.find(" = "); set != rest.npos) {
    rest.remove_prefix(set + 3);
  } else if (rest.starts_with("return ")) {
    rest.remove_prefix(7);
  }
  ForeignCall foreign{.callee = std::string(rest.substr(0, rest.find('(')))};
  const bool is_name = rest.find('(') != rest.npos &&
                       foreign.callee.find_first_of(" +-*/@[,=~") == foreign.callee.npos;
  if (!is_name || foreign.callee.starts_with("torch.") || foreign.callee.starts_with("F."))
    return {};
  for (const Operand& operand : call.operands) {
    if (operand.dtypes.size() == 1 && !places_of_word(rest, operand.name).empty())
      foreign.variables.push_back(&operand);
  }
  return foreign.variables.empty() ? ForeignCall{} : foreign;
}

}  // namespace dtypecheck::rules
