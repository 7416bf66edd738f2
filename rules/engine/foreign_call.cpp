#include "rules/engine/foreign_call.h"

#include <algorithm>
#include <string_view>

#include "platform/text.h"
#include "rules/engine/cures.h"

namespace dtypecheck::rules {
namespace {

// What raised was called by the user's own line: below it there is no Python.
bool is_raised_below(const OpCall& call) {
  constexpr std::string_view kPython = "python::";
  return call.op.starts_with(kPython) && !call.site.line.function.empty() &&
         std::string_view(call.op).substr(kPython.size()) == call.site.line.function;
}

// "raise TypeError(…)" and "assert is_float(x)" are the program's own refusal.
bool is_own_refusal(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  const std::string_view statement = begin == text.npos ? text : text.substr(begin);
  return statement.starts_with("raise ") || statement.starts_with("assert ");
}

const CodeLine::Call* called(const CodeLine& line) {
  if (line.focus == Span{}) return line.calls.size() == 1 ? &line.calls.front() : nullptr;
  for (const CodeLine::Call& call : line.calls) {
    if (call.whole == line.focus) return &call;
  }
  return nullptr;
}

const Operand* variable(const OpCall& call, std::string_view text) {
  constexpr std::string_view kSelf = "self.";
  const std::string_view name = text.starts_with(kSelf) ? text.substr(kSelf.size()) : text;
  const auto found = std::find_if(
      call.operands.begin(), call.operands.end(),
      [&](const Operand& o) { return (o.name == name || o.name == text) && o.dtypes.size() == 1; });
  return found == call.operands.end() ? nullptr : &*found;
}

}  // namespace

std::optional<ForeignCall> foreign_call(const CodeLine& line, const OpCall& call) {
  if (!is_raised_below(call) || line.is_cpp || is_own_refusal(line.text)) return std::nullopt;
  const CodeLine::Call* const found = called(line);
  if (found == nullptr || found->has_star) return std::nullopt;
  ForeignCall foreign{.callee = std::string(line.text_of(found->callee)), .whole = found->whole};
  const bool is_torch = foreign.callee.starts_with("torch.") || foreign.callee.starts_with("F.");
  if (is_torch || foreign.callee.find('(') != std::string::npos) return std::nullopt;
  for (const CodeLine::Argument& argument : found->arguments) {
    const Operand* operand = variable(call, line.text_of(argument.value));
    if (operand != nullptr) foreign.arguments.push_back({argument.value, operand});
  }
  if (foreign.arguments.empty()) return std::nullopt;
  return foreign;
}

std::vector<Patch> with_cast_arguments(const CodeLine& line, const ForeignCall& foreign, Dtype from,
                                       Dtype to) {
  const std::string old_text(line.text_of(foreign.whole));
  std::string text = old_text;
  for (auto argument = foreign.arguments.rbegin(); argument != foreign.arguments.rend();
       ++argument) {
    if (argument->operand->dtypes != DtypeSet(from)) continue;
    text.insert(argument->text.end - foreign.whole.begin, cast_suffix(line, to));
  }
  if (text == old_text || trimmed(line.text) == old_text) return {};
  const std::string replaced = line.is_unique(foreign.whole) ? old_text : "";
  return {{replaced, text + cast_suffix(line, from)}, {replaced, text}};
}

}  // namespace dtypecheck::rules
