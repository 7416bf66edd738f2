#include "rules/engine/read_ahead.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "core/dtype_set.h"
#include "platform/text.h"
#include "rules/engine/call_text.h"
#include "rules/engine/cure_parts.h"

namespace dtypecheck::rules {
namespace {

constexpr int kLinesBelow = 10;
constexpr int kLinesAbove = 200;
constexpr OpCallId kCallsBefore = 20'000;

size_t indent_of(const CodeLine& line) { return line.text.find_first_not_of(" \t"); }

bool is_tensor_dtype(Dtype dtype) { return kFloating.contains(dtype) && !kFloat8.contains(dtype); }

Span trimmed_span(const CodeLine& line, Span span) {
  constexpr const char* kBlank = " \t\n\\";
  const std::string_view text = line.text_of(span);
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {span.begin, span.begin};
  return {span.begin + begin, span.begin + text.find_last_not_of(kBlank) + 1};
}

// "(a + b)" is what stands in the brackets; "(a, b)" and "(a)(b)" are not.
std::optional<Span> in_brackets(const CodeLine& line, Span span) {
  if (!line.text_of(span).starts_with('(')) return std::nullopt;
  const std::vector<Span> elements = line.elements(span);
  const bool is_one = elements.size() == 1 && elements.front() != span &&
                      line.text_of(span).find(',') == std::string_view::npos;
  return is_one ? std::optional(elements.front()) : std::nullopt;
}

// Of ".to(torch.float16)", ".half()": the dtype that a call of the line gives.
std::optional<Dtype> cast_to(const CodeLine& line, const CodeLine::Call& call) {
  const std::string_view name = name_of_callee(line.text_of(call.callee));
  if (call.arguments.empty()) {
    constexpr std::pair<std::string_view, Dtype> kMethods[] = {{"float", Dtype::kFloat},
                                                               {"double", Dtype::kDouble},
                                                               {"half", Dtype::kHalf},
                                                               {"bfloat16", Dtype::kBFloat16}};
    for (const auto& [method, dtype] : kMethods) {
      if (name == method) return dtype;
    }
    return std::nullopt;
  }
  for (const CodeLine::Argument& argument : call.arguments) {
    const std::string_view text = line.text_of(argument.value);
    const bool may_be = argument.keyword == "dtype" || (argument.keyword.empty() && name == "to");
    if (may_be && text.starts_with("torch.")) return parse_dtype(text.substr(6));
  }
  return std::nullopt;
}

// The one variable or attribute that the statement gives a value to: "x", "self.down".
std::string bound_name(const CodeLine& line) {
  std::string name;
  for (const CodeLine::Operation& operation : line.operations) {
    if (operation.sign != "=") continue;
    if (!name.empty()) return "";  // "a = b = …"
    name = trimmed(line.text_of(operation.left));
  }
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.'; };
  return std::all_of(name.begin(), name.end(), is_part) ? name : "";
}

// A line between gives the variable a value, which no op call of its own need have made.
bool is_bound_between(const LineText& line_text, const std::string& name, int from, SourceLine to) {
  to.extent = {};
  if (to.line - from > kLinesAbove) return true;
  while (--to.line > from) {
    const CodeLine line = CodeLine::at(line_text, to);
    const std::vector<std::string> names = names_bound(line);
    if (std::find(names.begin(), names.end(), name) != names.end()) return true;
  }
  return false;
}

// By its name: "self.norm1", "self.ln", "self.bn".
bool is_norm(const std::string& layer) {
  constexpr std::string_view kParts[] = {"norm", "ln", "bn"};
  return std::any_of(std::begin(kParts), std::end(kParts),
                     [&](std::string_view part) { return layer.find(part) != layer.npos; });
}

// "x" of ".to(x.dtype)" and ".type_as(x)".
std::optional<Span> cast_like(const CodeLine& line, const CodeLine::Call& call) {
  constexpr std::string_view kDtype = ".dtype";
  if (call.arguments.size() != 1) return std::nullopt;
  const Span argument = call.arguments.front().value;
  const bool is_of = line.text_of(argument).ends_with(kDtype);
  if (is_of) return Span{argument.begin, argument.end - kDtype.size()};
  const bool is_like = name_of_callee(line.text_of(call.callee)) == "type_as";
  return is_like ? std::optional(argument) : std::nullopt;
}

// "torch.relu", "F.relu": a function, and no method of a tensor.
bool is_of_torch(std::string_view base) {
  constexpr std::string_view kModules[] = {"F", "functional", "torch", "nn", "th", "linalg"};
  return std::find(std::begin(kModules), std::end(kModules), base.substr(base.rfind('.') + 1)) !=
         std::end(kModules);
}

// "y" of "y.unsqueeze(-1)" and of "y[0]", which have its dtype; the span itself of anything else.
Span passed_on(const CodeLine& line, Span span) {
  for (const CodeLine::Subscript& subscript : line.subscripts) {
    if (subscript.whole == span) return passed_on(line, subscript.base);
  }
  for (const CodeLine::Call& call : line.calls) {
    const std::string_view callee = line.text_of(call.callee);
    const size_t dot = callee.rfind('.');
    if (call.whole != span || dot == callee.npos || is_of_torch(callee.substr(0, dot))) continue;
    const uint32_t facts = ops::facts_of("aten::" + std::string(callee.substr(dot + 1)));
    const bool passes = (facts & ops::kPassesOn) != 0 && (facts & ops::kCast) == 0;
    if (passes) return passed_on(line, {call.callee.begin, call.callee.begin + dot});
  }
  return span;
}

// "Net.__init__" of "Net.forward"; "" of a function that no class has.
std::string maker_of_class(const std::string& function) {
  const size_t dot = function.rfind('.');
  return dot == function.npos ? "" : function.substr(0, dot) + ".__init__";
}

// "model" of the layer "model.inp" that the line calls as self.inp.
std::string module_of_self(const CodeLine& line, std::string module) {
  for (const CodeLine::Call& call : line.calls) {
    const std::string_view callee = line.text_of(call.callee);
    const std::string_view suffix = callee.starts_with("self.") ? callee.substr(4) : "";
    if (!suffix.empty() && module.ends_with(suffix)) module.resize(module.size() - suffix.size());
  }
  return module;
}

}  // namespace

// Both sides of an op that takes one dtype, or promotes.
ReadAhead::Known ReadAhead::mixed(const Known& a, const Known& b, bool promotes, Scope& scope) {
  if (!promotes && scope.region) return Value{*scope.region};
  if (!a || !b) return std::nullopt;
  const bool is_sure = a->is_sure && b->is_sure;
  if (a->dtype == b->dtype) return Value{a->dtype, a->promotes || b->promotes, is_sure};
  if (!promotes) {
    scope.seen = std::max(scope.seen, is_sure ? Ahead::kRefuses : Ahead::kPromotes);
    return std::nullopt;
  }
  if (a->promotes != b->promotes) return a->promotes ? a : b;
  const auto both = promoted(DtypeSet(a->dtype) | b->dtype);
  if (!both) return std::nullopt;
  scope.seen = std::max(scope.seen, Ahead::kPromotes);
  return Value{*both, a->promotes, is_sure};
}

ReadAhead::Known ReadAhead::of_operation(const CodeLine& line, const CodeLine::Operation& operation,
                                         Scope& scope) const {
  const Known right = value(line, operation.right, scope);
  if (operation.is_unary()) return right;
  const Known left = value(line, operation.left, scope);
  constexpr std::string_view kArithmetic[] = {"+", "-", "*", "/", "**", "//", "%"};
  if (operation.sign == "@") return mixed(left, right, /*promotes=*/false, scope);
  const bool is_arithmetic = std::find(std::begin(kArithmetic), std::end(kArithmetic),
                                       operation.sign) != std::end(kArithmetic);
  if (!is_arithmetic) return std::nullopt;
  if (left && right) return mixed(left, right, /*promotes=*/true, scope);
  Known one = left ? left : right;
  const bool is_number = !line.may_be_tensor(left ? operation.right : operation.left);
  if (one && !is_number) one->is_sure = false;
  return one;
}

// A layer takes its own dtype, and gives it.
ReadAhead::Known ReadAhead::of_layer(const std::string& name, const Known& input,
                                     Scope& scope) const {
  Known own;
  if (const auto made = scope.names.find(name); made != scope.names.end()) own = made->second;
  if (!scope.module.empty() && name != scope.changed) {
    const std::string path = scope.module + name.substr(name.find('.'));
    if (const auto seen = index_.dtypes_in(scope.process, path).single()) own = Value{*seen};
  }
  if (own && is_norm(name)) own->is_sure = false;  // some take an input of another dtype
  return own ? mixed(own, input, /*promotes=*/false, scope) : std::nullopt;
}

ReadAhead::Known ReadAhead::of_call(const CodeLine& line, const CodeLine::Call& call,
                                    Scope& scope) const {
  const std::string callee(line.text_of(call.callee));
  std::vector<Known> given;
  for (const CodeLine::Argument& argument : call.arguments) {
    if (!line.may_be_tensor(argument.value)) continue;
    const Known one = value(line, argument.value, scope);
    if (argument.keyword.empty()) given.push_back(one);
  }
  if (call.has_star) return std::nullopt;
  const size_t dot = callee.rfind('.');
  const std::string base = dot == callee.npos ? "" : callee.substr(0, dot);
  const Known receiver = base.empty() || is_of_torch(base) || base == "self"
                             ? std::nullopt
                             : value(line, {call.callee.begin, call.callee.begin + dot}, scope);
  if (const auto dtype = cast_to(line, call); dtype && receiver) return Value{*dtype};
  if (const auto like = cast_like(line, call); like && receiver) return value(line, *like, scope);
  if (callee.starts_with("self.") && given.size() == 1 && !receiver)
    return of_layer(callee, given.front(), scope);
  if (!is_of_torch(base) && !receiver) return std::nullopt;
  if (receiver) given.insert(given.begin(), receiver);
  if (given.empty()) return std::nullopt;
  const std::string op = "aten::" + std::string(name_of_callee(callee));
  const uint32_t facts = ops::facts_of(op);
  if (facts & ops::kCast) return std::nullopt;  // to what is not known
  if (facts & ops::kPassesOn) return given.front();
  const auto& behaviour = options_.contracts->behaviour(op);
  if (!behaviour.is_known || behaviour.always) return std::nullopt;
  Known all = given.front();
  for (size_t i = 1; i < given.size(); ++i) all = mixed(all, given[i], behaviour.promotes, scope);
  return behaviour.passes_dtype_on || behaviour.promotes ? all : std::nullopt;
}

ReadAhead::Known ReadAhead::value(const CodeLine& line, Span span, Scope& scope) const {
  span = trimmed_span(line, span);
  if (const auto inner = in_brackets(line, span)) return value(line, *inner, scope);
  const auto is_whole = [&](const CodeLine::Operation& operation) {
    const size_t begin =
        operation.is_unary() ? operation.left.begin : trimmed_span(line, operation.left).begin;
    return Span{begin, trimmed_span(line, operation.right).end} == span;
  };
  for (const CodeLine::Operation& operation : line.operations) {
    if (is_whole(operation) && operation.sign != "=") return of_operation(line, operation, scope);
  }
  for (const CodeLine::Call& call : line.calls) {
    if (call.whole == span) return of_call(line, call, scope);
  }
  for (const CodeLine::Subscript& subscript : line.subscripts) {
    if (subscript.whole == span) return value(line, subscript.base, scope);
  }
  const std::string text(line.text_of(span));
  const auto name = scope.names.find(text);
  if (name != scope.names.end()) return name->second;
  for (const std::string_view transposed : {".T", ".mT", ".data"}) {
    if (text.ends_with(transposed))
      return value(line, {span.begin, span.end - transposed.size()}, scope);
  }
  return std::nullopt;
}

// A statement, and what it gives its variables.
void ReadAhead::run(const CodeLine& line, Scope& scope) const {
  for (const CodeLine::Operation& operation : line.operations) {
    if (operation.sign != "=") continue;
    const Known given = value(line, operation.right, scope);
    const std::string bound = bound_name(line);
    for (const std::string& name : names_bound(line)) scope.names.erase(name);
    scope.names.erase(bound);
    if (given && !bound.empty()) scope.names.insert_or_assign(bound, *given);
    return;
  }
  const size_t begin = indent_of(line);
  if (begin == line.text.npos) return;
  const bool returns = line.text.compare(begin, 7, "return ") == 0;
  value(line, {returns ? begin + 7 : begin, line.text.size()}, scope);
}

// A cast of the run's that another line made of what this call gave: the variable may hold that by
// now.
bool ReadAhead::is_cast_since(const OpCall& call) const {
  const auto readers = index_.consumers(call);
  return std::any_of(readers.begin(), readers.end(), [&](OpCallId reader) {
    const OpCall& other = *index_.run().call(reader);
    return index_.has(other, ops::kCast) && !(other.site.line == call.site.line);
  });
}

// What the variables of the function, and the attributes that its class makes, were made in: of a
// line that gives one a value, what its last op gave.
void ReadAhead::add_made(const OpCall& refused, Scope& scope) const {
  const SourceLine& at = refused.site.line;
  const std::string maker = maker_of_class(at.function);
  const auto is_of_class = [&](const SourceLine& line) {
    return !maker.empty() && line.function == maker;
  };
  std::vector<const OpCall*> makes;  // from the last one back
  std::set<int> cast_since;          // lines of them
  bool is_class_cast = false;        // an equal cast of another parameter is the same signature
  for (OpCallId id = refused.id; id-- > 1 && refused.id - id < kCallsBefore;) {
    const OpCall& call = index_.run().calls[id - 1];
    const SourceLine& line = call.site.line;
    const bool is_local = line.function == at.function && line.line < at.line;
    const bool is_here = call.process == refused.process && line.file == at.file &&
                         is_users_own(call.site) && (is_local || is_of_class(line));
    if (!is_here) continue;
    makes.push_back(&call);
    if (!is_cast_since(call)) continue;
    cast_since.insert(line.line);
    is_class_cast |= is_of_class(line);
  }
  std::set<int> done;
  for (const OpCall* call : makes) {
    const SourceLine& line = call->site.line;
    const bool is_attribute = is_of_class(line);
    if (!done.insert(line.line).second || cast_since.contains(line.line)) continue;
    const auto dtype = call->result_dtype();
    if (!dtype || !is_tensor_dtype(*dtype) || (is_attribute && is_class_cast)) continue;
    const std::string name = bound_name(CodeLine::at(options_.line_text, line));
    if (name.empty() || name.starts_with("self.") != is_attribute) continue;
    if (!is_attribute && is_bound_between(options_.line_text, name, line.line, at)) continue;
    scope.names.try_emplace(name, Value{*dtype, call->results.front().promotes()});
  }
}

ReadAhead::Scope ReadAhead::make_scope(const OpCall& refused) const {
  Scope scope{.process = refused.process};
  add_made(refused, scope);
  // What was refused is known best.
  const CodeLine line = CodeLine::at(options_.line_text, refused.site.line);
  for (const Operand& operand : refused.operands) {
    const auto dtype = operand.dtypes.single();
    if (!dtype || !is_tensor_dtype(*dtype) || operand.is_wrapped_number) continue;
    for (const Span span : operand_text(line, refused, operand)) {
      const std::string text(line.text_of(passed_on(line, span)));
      if (bound_name(CodeLine(text + " = 0", false)) == text)
        scope.names.insert_or_assign(text, Value{*dtype, operand.promotes()});
    }
  }
  if (!maker_of_class(refused.site.line.function).empty())
    scope.module = module_of_self(line, refused.site.module);
  return scope;
}

const ReadAhead::Scope& ReadAhead::scope_of(const OpCall& refused) const {
  if (last_.first != refused.id) last_ = {refused.id, make_scope(refused)};
  return last_.second;
}

// The statement as the cure leaves it, and in `scope` what it changes elsewhere; nothing where what
// it does to the statement is not known.
std::optional<CodeLine> ReadAhead::with(const Cure& cure, const CodeLine& line,
                                        const SourceLine& at, Scope& scope) const {
  if (cure.kind == CureKind::kOpenAutocast) {
    if (cure.where.line != at.line) return std::nullopt;
    scope.region = cure.dtype;
    return line;
  }
  if (cure.where.line == at.line && !cure.replaces.empty()) {
    const size_t place = line.text.find(cure.replaces);
    if (place == line.text.npos) return std::nullopt;
    std::string text = line.text;
    text.replace(place, cure.replaces.size(), cure.code);
    return CodeLine(text, /*is_cpp=*/false);
  }
  const bool is_assignment = cure.code.find(" = ") != std::string::npos;
  const std::string name = bound_name(is_assignment ? CodeLine(cure.code, /*is_cpp=*/false)
                                                    : CodeLine::at(options_.line_text, cure.where));
  const bool is_here = name.starts_with("self.") || cure.where.function == at.function;
  if (!is_here || !scope.names.contains(name)) return std::nullopt;
  scope.names.insert_or_assign(name, Value{cure.dtype});
  scope.changed = name;
  return line;
}

Ahead ReadAhead::of(const OpCall& refused, const Cure& cure) const {
  SourceLine at = refused.site.line;
  const CodeLine line = CodeLine::at(options_.line_text, at);
  const bool is_told = !line.is_cpp && is_users_own(refused.site) && cure.where.known() &&
                       cure.where.file == at.file && !cure.code.empty() &&
                       cure.kind != CureKind::kMoveAutocast;
  if (!is_told || line.text.empty()) return Ahead::kNothing;
  Scope scope = scope_of(refused);
  const auto changed = with(cure, line, at, scope);
  if (!changed) return Ahead::kNothing;
  run(*changed, scope);
  scope.region.reset();
  if (trimmed(line.text).starts_with("return")) return scope.seen;
  const auto more_lines = [](const CodeLine& statement) {
    return static_cast<int>(std::count(statement.text.begin(), statement.text.end(), '\n'));
  };
  at.extent = {};
  at.line += more_lines(line);
  for (int i = 0; i < kLinesBelow; ++i) {
    ++at.line;
    const CodeLine next = CodeLine::at(options_.line_text, at);
    const size_t begin = indent_of(next);
    if (begin == next.text.npos || next.text[begin] == '#') continue;
    if (begin != indent_of(line)) break;
    run(next, scope);
    at.line += more_lines(next);
  }
  return scope.seen;
}

}  // namespace dtypecheck::rules
