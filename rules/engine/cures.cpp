#include "rules/engine/cures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/follow_links.h"
#include "platform/text.h"
#include "rules/engine/cure_parts.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

bool is_below(std::string_view path, std::string_view module) {
  return path == module ||
         (path.starts_with(module) && path.substr(module.size()).starts_with('.'));
}

// No variable held the module, and the trace calls it by its class: "Linear", "Net.fc".
bool is_nameless(const std::string& module) {
  return !module.empty() && std::isupper(static_cast<unsigned char>(module.front())) != 0;
}

// "cast the target, train.py:40: target.float()", or, without code, "cast the target of mse_loss to
// Float, train.py:40: .to(torch.float32)".
void say(Cure& cure, const std::string& what, const std::string& whole, const Site& site,
         const std::string& suffix) {
  cure.text = cure.code.empty() ? fmt::format("cast {} to {}{}: {}", whole, dtype_name(cure.dtype),
                                              at(site), suffix)
                                : fmt::format("cast {}{}: {}", what, at(site), cure.code);
}

std::string short_name(const CodeLine& line, Span text) {
  constexpr size_t kShort = 24;
  const std::string name(line.text_of(text));
  return name.size() <= kShort && name.find('(') == name.npos ? name : "";
}

// "the target"; where LibTorch's name of an operand tells a user nothing, "x2" or "other", what the
// line calls it, or of which op it is.
std::string what_to_cast(const CodeLine& line, Span text, const std::string& noun,
                         const std::string& whole) {
  constexpr std::string_view kVague[] = {"self", "other", "end", "tensor", "real", "imag"};
  const bool is_word = noun.size() > 2 && noun.find_first_of("0123456789[_") == noun.npos &&
                       std::find(std::begin(kVague), std::end(kVague), noun) == std::end(kVague);
  if (is_word) return "the " + noun;
  const std::string name = short_name(line, text);
  return name.empty() ? whole : name;
}

// A module's parameters are made where its class is, in which the variable that holds it is not
// known. A line that nobody has may be anything.
bool has_variable(const CodeLine& line, const std::string& name) {
  if (line.text.empty() || name.empty()) return true;
  const auto is_part = [&](size_t at) {
    return at < line.text.size() && (std::isalnum(static_cast<unsigned char>(line.text[at])) != 0 ||
                                     line.text[at] == '_' || line.text[at] == '.');
  };
  for (size_t at = line.text.find(name); at != std::string::npos;
       at = line.text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool is_longer = end < line.text.size() && line.text[end] != '.' && is_part(end);
    if ((at == 0 || !is_part(at - 1)) && !is_longer) return true;
  }
  return false;
}

// "nn.Linear(8, 16).to(torch.float32)" where the line makes the module: "self.gate = …" of
// "net.gate".
std::optional<Patch> made_in(const CodeLine& line, const std::string& module,
                             const std::string& suffix) {
  const std::string wanted = "self." + module.substr(module.rfind('.') + 1);
  for (const CodeLine::Operation& operation : line.operations) {
    const bool is_it = operation.sign == "=" && line.text_of(operation.left) == wanted &&
                       line.is_primary(operation.right);
    if (is_it) return with_suffix(line, operation.right, suffix);
  }
  return std::nullopt;
}

// "net->to(dtype)": in C++ a module is held by a pointer, a tensor is not.
bool is_module_of_cpp(const CodeLine& line, Span made) {
  return line.is_cpp &&
         std::any_of(line.calls.begin(), line.calls.end(), [&](const CodeLine::Call& call) {
           return call.whole == made && line.text_of(call.callee).ends_with("->to");
         });
}

}  // namespace

std::string cast_suffix(const CodeLine& line, Dtype dtype) {
  if (!line.is_cpp) return fmt::format(".to({})", torch_dtype(dtype));
  const bool is_aten =
      line.text.find("at::") != std::string::npos && line.text.find("torch::") == std::string::npos;
  return fmt::format(".to({}::k{})", is_aten ? "at" : "torch", dtype_name(dtype));
}

std::string CureWriter::cast_at(const CodeLine& line, const SourceLine& where, Dtype dtype) const {
  constexpr std::pair<Dtype, const char*> kMethods[] = {
      {Dtype::kFloat, ".float()"},       {Dtype::kDouble, ".double()"}, {Dtype::kHalf, ".half()"},
      {Dtype::kBFloat16, ".bfloat16()"}, {Dtype::kLong, ".long()"},     {Dtype::kBool, ".bool()"}};
  const auto method = std::find_if(std::begin(kMethods), std::end(kMethods),
                                   [&](const auto& known) { return known.first == dtype; });
  const bool has_method = !line.is_cpp && method != std::end(kMethods);
  return has_method && lacks_torch(options_.line_text, where.file) ? method->second
                                                                   : cast_suffix(line, dtype);
}

CodeLine CureWriter::line_of(const OpCall& call) const {
  return CodeLine::at(options_.line_text, call.site.line);
}

std::string CureWriter::name_in_line(const OpCall& call, const Operand& operand) const {
  const CodeLine line = line_of(call);
  const auto found = find(line, call, operand);
  return found ? short_name(line, found->text.front()) : "";
}

// An op that the line calls may compute with what another op inside of it made: cross_entropy's
// nll_loss gets what its log_softmax gave. Then it is what that was given.
std::optional<CureWriter::Found> CureWriter::find(const CodeLine& line, const OpCall& call,
                                                  const Operand& operand) const {
  if (line.text.empty() || !is_users_own(call.site)) return std::nullopt;
  std::vector<const OpCall*> around = {&call};
  follow_links(index_.run().call(call.parent), [&](const OpCall& outer) {
    around.push_back(&outer);
    return index_.run().call(outer.parent);
  });
  std::vector<const Operand*> names = {&operand};
  const Provenance way = index_.provenance().of(call, operand);
  for (const ProvenanceStep& step : way.steps) {
    if (step.giver == nullptr || step.call->parent == kNoOpCall) break;
    names.push_back(step.giver);
  }
  for (const OpCall* outer : around) {
    for (const Operand* name : names) {
      const Operand* same =
          outer == &call ? (name == &operand ? name : nullptr) : same_tensor(*outer, *name);
      if (same == nullptr) continue;
      if (auto text = operand_text(line, *outer, *same); !text.empty())
        return Found{outer, same, std::move(text)};
      break;
    }
  }
  return std::nullopt;
}

// The tensor was not made by an op inside of the module, so that what it is called with decides.
bool CureWriter::is_from_outside(const OpCall& call, const Operand& operand,
                                 std::string_view module) const {
  if (is_parameter(operand)) return false;
  const OpCall* origin = index_.run().call(operand.origin);
  return origin == nullptr || origin->process != call.process ||
         !is_below(origin->site.module, module);
}

std::optional<Cure> CureWriter::cast_module_input(const OpCall& call, const Operand& operand,
                                                  Dtype dtype, const std::string& noun,
                                                  const CodeLine& line) const {
  if (call.site.module.empty()) return std::nullopt;
  // What an op inside of a recurrent layer has for its input may be the layer's hidden state.
  const OpCall* layer = &call;
  const Operand* its = &operand;
  follow_links(index_.run().call(call.parent), [&](const OpCall& around) -> const OpCall* {
    const bool is_one = around.site.module == call.site.module;
    const Operand* same = is_one ? same_tensor(around, *its) : nullptr;
    if (same == nullptr) return nullptr;
    layer = &around;
    its = same;
    return index_.run().call(around.parent);
  });
  const OpCall* origin = index_.run().call(operand.origin);
  const bool is_near = origin != nullptr && origin->site.line.file == call.site.line.file &&
                       origin->site.line.function == call.site.line.function;
  const auto made = is_near ? names_bound(line_of(*origin)) : std::vector<std::string>();
  const auto input = module_input(line, *layer, *its, made);
  std::string module = input ? input->module : call.site.module;
  // The line calls the whole model; what a library casts in it, it casts to what it is called with.
  if (!input && !is_in_forward(call.site.line)) module = root_module(module);
  if (is_users_own(call.site) && !is_from_outside(call, operand, module)) return std::nullopt;
  // An index or a mask beside it is none of its input; both hidden states are one argument.
  const bool is_counted = !operand.is_floating() || kIntegral.contains(dtype);
  const bool is_one_of_several = (input && !input->is_only) || is_counted;
  Cure cure = is_one_of_several ? cure_of(CureKind::kCastOperand, *layer,
                                          std::string(list_name(its->name)), dtype)
                                : cure_of(CureKind::kCastModuleInput, call, module, dtype);
  const std::string suffix = cast_at(line, call.site.line, dtype);
  if (input) take(cure, with_suffix(line, input->argument, suffix));
  // A line of the module's own, which calls it no more.
  const bool is_inside = !input && call.site.line.function == call.site.module_class + ".forward";
  if (is_inside && !line.text.empty()) cure.where = {};
  const std::string what =
      is_one_of_several && input ? fmt::format("the {} of {}",
                                               !input->keyword.empty()        ? input->keyword
                                               : list_name(its->name) == "hx" ? "hidden state"
                                                                              : noun,
                                               module)
      : is_counted && !input     ? fmt::format("the {} of {}", noun, call.site.module)
                                 : fmt::format("what {} is called with", module);
  say(cure, what, what, Site{.line = cure.where}, suffix);
  return cure;
}

// "[t.to(torch.float16) for t in now]", where a variable holds a list of which the operand is one.
std::optional<Cure> CureWriter::cast_list(const OpCall& call, const Operand& operand, Dtype dtype,
                                          const CodeLine& line) const {
  Operand whole = operand;
  whole.name = list_name(operand.name);
  if (whole.name == operand.name || line.is_cpp || !is_users_own(call.site)) return std::nullopt;
  const std::vector<Span> text = operand_text(line, call, whole);
  if (text.size() != 1 || !line.is_unique(text.front())) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastOperand, call, whole.name, dtype);
  cure.replaces = line.text_of(text.front());
  cure.code = fmt::format("[t{} for t in {}]", cast_at(line, call.site.line, dtype), cure.replaces);
  say(cure, "each of " + cure.replaces, "", call.site, "");
  return cure;
}

// Of a call of the compiled function, or of the module whose forward it is: the only argument, or
// the only one that is what the line that made the operand gave a value to, or what the function
// that made it gave.
static const CodeLine::Argument* compiled_argument(const CodeLine& line, const OpCall& call,
                                                   const std::vector<std::string>& made) {
  const std::string& function = call.site.line.function;
  const std::string modules = fmt::format(".{}.", call.site.module);
  for (const CodeLine::Call& candidate : line.calls) {
    const std::string_view callee = name_of_callee(line.text_of(candidate.callee));
    const bool is_it = callee == name_of_callee(function) ||
                       modules.find(fmt::format(".{}.", callee)) != modules.npos;
    if (!is_it || candidate.has_star || candidate.arguments.empty()) continue;
    if (candidate.arguments.size() == 1) return &candidate.arguments.front();
    const CodeLine::Argument* found = nullptr;
    for (const CodeLine::Argument& argument : candidate.arguments) {
      const std::string_view text = line.text_of(argument.value);
      const auto name = name_of_callee(text.substr(0, text.find('(')));
      if (std::find(made.begin(), made.end(), name) == made.end()) continue;
      if (found != nullptr) return nullptr;
      found = &argument;
    }
    return found;
  }
  return nullptr;
}

// The lines of a compiled function are not known, but that of its call is: while it was compiled
// that had op calls.
std::optional<Cure> CureWriter::cast_for_compiled(const OpCall& call, const Operand& operand,
                                                  Dtype dtype, const std::string& noun) const {
  constexpr OpCallId kNear = 5000;
  const OpCall* origin = index_.run().call(operand.origin);
  if (origin == nullptr || is_parameter(operand) || !is_users_own(call.site)) return std::nullopt;
  if (origin->site.line == call.site.line) return std::nullopt;
  std::vector<std::string> made = names_bound(line_of(*origin));
  made.emplace_back(name_of_callee(origin->site.line.function));
  const SourceLine* asked = &call.site.line;
  for (OpCallId id = call.id; id-- > 1 && call.id - id < kNear;) {
    const OpCall& before = index_.run().calls[id - 1];
    const bool is_new = before.process == call.process && is_users_own(before.site) &&
                        !(before.site.line == *asked) && !(before.site.line == call.site.line);
    if (!is_new) continue;
    asked = &before.site.line;
    const CodeLine line = line_of(before);
    const CodeLine::Argument* argument = compiled_argument(line, call, made);
    if (argument == nullptr) continue;
    Cure cure = cure_of(CureKind::kCastOperand, call, operand.name, dtype);
    cure.where = before.site.line;
    take(cure, with_suffix(line, argument->value, cast_at(line, cure.where, dtype)));
    say(cure, "the " + noun + " of the compiled function", "", before.site, "");
    return cure;
  }
  return std::nullopt;
}

std::optional<Cure> CureWriter::cast_operand(const OpCall& call, const Operand& operand,
                                             Dtype dtype, const std::string& noun) const {
  const CodeLine line = line_of(call);
  const auto found = find(line, call, operand);
  if (!found) {
    if (is_head(line)) {
      if (auto cure = cast_for_compiled(call, operand, dtype, noun)) return cure;
    }
    if (auto cure = cast_list(call, operand, dtype, line)) return cure;
    if (auto cure = cast_module_input(call, operand, dtype, noun, line)) return cure;
    if (!line.text.empty() && line.calls.empty() && line.operations.empty() &&
        line.subscripts.empty()) {
      return std::nullopt;  // "def forward(self, x):", of a compiled function
    }
    // In a library, or between two layers of one: there is no line of the user's to cast it at.
    if (!is_users_own(call.site) && call.site.line.known()) return std::nullopt;
    if (!call.site.module.empty() && !is_in_forward(call.site.line)) return std::nullopt;
  }
  Cure cure = found ? cure_of(CureKind::kCastOperand, *found->call, found->operand->name, dtype)
                    : cure_of(CureKind::kCastOperand, call, operand.name, dtype);
  const std::string suffix = cast_at(line, call.site.line, dtype);
  if (found) take(cure, with_suffix(line, found->text, suffix));
  const std::string whole = fmt::format("the {} of {}", noun, call.short_op());
  say(cure, found ? what_to_cast(line, found->text.front(), noun, whole) : "the " + noun, whole,
      call.site, suffix);
  return cure;
}

// The smallest call around the expression, an argument of it or what its method is called on.
static const CodeLine::Call* call_around(const CodeLine& line, Span inner) {
  const CodeLine::Call* found = nullptr;
  for (const CodeLine::Call& call : line.calls) {
    const bool is_around =
        call.whole.begin <= inner.begin && inner.end <= call.whole.end && !(call.whole == inner);
    const bool is_smaller = found == nullptr || call.whole.end - call.whole.begin <
                                                    found->whole.end - found->whole.begin;
    if (is_around && is_smaller) found = &call;
  }
  return found;
}

std::optional<Cure> CureWriter::cast_and_back(const OpCall& call, const Operand& operand,
                                              Dtype dtype) const {
  const CodeLine line = line_of(call);
  const auto found = line.is_cpp ? std::nullopt : find(line, call, operand);
  const auto back = operand.dtypes.single();
  if (!found || !back || found->text.size() != 1) return std::nullopt;
  const Span text = found->text.front();
  const CodeLine::Call* around = call_around(line, text);
  const bool is_it =
      around != nullptr && line.is_unique(around->whole) &&
      name_of_callee(line.text_of(around->callee)) == name_of_callee(found->call->short_op());
  const bool gives_it = options_.contracts->passes_dtype_on(ops::without_alias(found->call->op));
  if (!is_it || !gives_it) return std::nullopt;
  std::string code(line.text_of(around->whole));
  const std::string inner(line.text_of(text));
  const std::string suffix = cast_at(line, call.site.line, dtype);
  code.replace(text.begin - around->whole.begin, inner.size(),
               (line.is_primary(text) ? inner : "(" + inner + ")") + suffix);
  code += cast_at(line, call.site.line, *back);
  Cure cure = cure_of(CureKind::kCastOperand, *found->call, found->operand->name, dtype);
  take(cure, {std::string(line.text_of(around->whole)), code});
  cure.text = fmt::format("compute it in {} and cast it back{}: {}", dtype_name(dtype),
                          at(call.site), cure.code);
  return cure;
}

std::vector<Cure> CureWriter::raise_operand(const OpCall& call, const Operand& operand,
                                            const std::string& noun) const {
  std::vector<Cure> all;
  const auto dtype = operand.dtypes.single();
  auto cure = cast_operand(call, operand, Dtype::kFloat, noun);
  const bool is_low =
      dtype && kLowPrecision.contains(*dtype) && index_.has_parameters_in(call.process, *dtype);
  auto back = is_low ? cast_and_back(call, operand, Dtype::kFloat) : std::nullopt;
  const auto found = find(line_of(call), call, operand);
  const bool is_called_twice = found && found->text.size() > 1;
  if (is_low && !back && !is_called_twice && cure && !cure->code.empty()) {
    Cure both = *cure;
    both.text += fmt::format(", and what comes of it back for the layers behind: {}",
                             to_dtype(call, *dtype));
    both.code.clear();
    both.replaces.clear();
    both.where = {};
    all.push_back(std::move(both));
  }
  if (back) all.push_back(*std::move(back));
  if (cure) all.push_back(*std::move(cure));
  return all;
}

std::optional<Cure> CureWriter::cast_operands(const OpCall& call,
                                              const std::vector<const Operand*>& operands,
                                              Dtype dtype) const {
  const CodeLine line = line_of(call);
  const OpCall* at_call = nullptr;
  std::vector<Span> texts;
  std::vector<std::string> names;
  for (const Operand* operand : operands) {
    const auto found = find(line, call, *operand);
    if (!found || found->text.size() != 1) return std::nullopt;
    if (at_call != nullptr && found->call != at_call) return std::nullopt;
    at_call = found->call;
    if (std::find(texts.begin(), texts.end(), found->text.front()) != texts.end())
      return std::nullopt;
    texts.push_back(found->text.front());
    names.push_back(found->operand->name);
  }
  if (texts.size() < 2) return std::nullopt;
  std::sort(texts.begin(), texts.end(), [](Span a, Span b) { return a.begin < b.begin; });
  Cure cure =
      cure_of(CureKind::kCastOperand, *at_call, fmt::format("{}", fmt::join(names, ",")), dtype);
  const std::string suffix = cast_at(line, call.site.line, dtype);
  take(cure, with_suffix(line, texts, suffix));
  const std::string what = fmt::format("the {}", fmt::join(names, " and the "));
  say(cure, what, fmt::format("{} of {}", what, call.short_op()), call.site, suffix);
  return cure;
}

std::optional<Cure> CureWriter::cast_result(const OpCall& maker, Dtype dtype) const {
  if (!is_users_own(maker.site)) return std::nullopt;
  const CodeLine line = line_of(maker);
  Cure cure = cure_of(CureKind::kCastResult, maker, "", dtype);
  const auto made = line.text.empty() ? std::nullopt : made_text(line, maker);
  const auto asked = maker.result_dtype();
  const auto other = made && asked ? other_dtype(line, *asked, dtype) : std::nullopt;
  if (!made && index_.has(maker, ops::kUninitialized)) return std::nullopt;
  const std::string suffix = cast_at(line, maker.site.line, dtype);
  if (other) {
    take(cure, *other);
  } else if (made && is_module_of_cpp(line, *made)) {
    return std::nullopt;  // Module::to() gives nothing that could be cast again
  } else if (made) {
    take(cure, with_suffix(line, *made, suffix));
  }
  say(cure, "it where it is made", "what " + maker.short_op() + " makes", maker.site, suffix);
  return cure;
}

Cure CureWriter::cast_output(const OpCall& call, const std::string& module, Dtype dtype) const {
  Cure cure = cure_of(CureKind::kCastResult, call, "", dtype);
  cure.where = {};
  cure.text = fmt::format("cast what {} gives to {}: {}", module.empty() ? call.short_op() : module,
                          dtype_name(dtype), to_dtype(call, dtype));
  return cure;
}

Cure CureWriter::cast_parameters(const OpCall& call, const Operand& operand,
                                 const std::string& module, Dtype dtype) const {
  Cure cure = cure_of(CureKind::kCastParameters, call, module, dtype);
  const Provenance source = index_.provenance().of(call, operand);
  const OpCall* maker = source.maker;
  const bool is_told =
      maker != nullptr && maker->site.line.known() && !is_installed(maker->site.line);
  const CodeLine line = CodeLine::at(options_.line_text, is_told ? maker->site.line : SourceLine());
  auto other = is_told ? other_dtype(line, *operand.dtypes.single(), dtype) : std::nullopt;
  if (!other && is_told) other = made_in(line, module, cast_at(line, maker->site.line, dtype));
  if (is_told) cure.where = maker->site.line;
  const CodeLine use = line_of(call);
  bool is_shown = is_told;
  if (!other && !has_variable(is_told ? line : use, root_module(module))) {
    is_shown =
        is_users_own(call.site) && !use.text.empty() && has_variable(use, root_module(module));
    cure.where = is_shown ? call.site.line : SourceLine();
  }
  const std::string since = is_shown ? at(Site{.line = cure.where}) : "";
  if (other) {
    take(cure, *other);
    cure.text = fmt::format("make {} {}{}: {}", module.empty() ? "the module" : module,
                            dtype_name(dtype), since, cure.code);
  } else if (module.empty() || is_nameless(module) || is_in_cpp(call)) {
    cure.text = fmt::format("cast {} to {}{}: {}",
                            module.empty() ? "the module that holds the parameter" : module,
                            dtype_name(dtype), since,
                            is_in_cpp(call) ? "->" + to_dtype(call, dtype).substr(1)
                                            : fmt::format(".to(dtype={})", torch_dtype(dtype)));
  } else {
    cure.code = fmt::format("{}.to(dtype={})", python_path(module), torch_dtype(dtype));
    cure.text = fmt::format("cast {} to {}{}: {}", module, dtype_name(dtype), since, cure.code);
  }
  return cure;
}

Cure CureWriter::rewrite(const OpCall& call, Dtype dtype, Patch patch,
                         const std::string& what) const {
  Cure cure = cure_of(CureKind::kSetting, call, "", dtype);
  take(cure, std::move(patch));
  cure.text = fmt::format("{}{}: {}", what, at(call.site), cure.code);
  return cure;
}

}  // namespace dtypecheck::rules
