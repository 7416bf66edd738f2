// Casts of a variable, for all that reads it: what a loop draws, and what several layers read.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "platform/text.h"
#include "rules/engine/cure_parts.h"
#include "rules/engine/cures.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {

// Of the smallest call that has the span for an argument.
static std::string callee_of(const CodeLine& line, Span argument) {
  const CodeLine::Call* found = nullptr;
  for (const CodeLine::Call& call : line.calls) {
    const bool is_it = std::any_of(call.arguments.begin(), call.arguments.end(),
                                   [&](const auto& given) { return given.value == argument; });
    if (is_it) found = &call;
  }
  return found == nullptr ? "" : std::string(line.text_of(found->callee));
}

// The lines of the block behind one that died, as many as may be about what it reads, until
// `answers(line)` has an answer: what they call alike would die there.
template <class Answers>
static bool asked_below(const LineText& line_text, const CodeLine& line, SourceLine below,
                        const Answers& answers) {
  constexpr int kLinesBelow = 10;
  const size_t indent = line.text.find_first_not_of(" \t");
  below.extent = {};
  for (int i = 0; i < kLinesBelow; ++i) {
    ++below.line;
    const CodeLine next = CodeLine::at(line_text, below);
    const size_t begin = next.text.find_first_not_of(" \t");
    if (begin == next.text.npos) continue;
    if (begin < indent) return false;
    if (const std::optional<bool> answer = answers(next)) return *answer;
  }
  return false;
}

// The statement gives the variable to the same function again, or computes with it and with what it
// met: one calls alike, the other mixes the same two.
static bool mixes_again(const CodeLine& line, const std::string& name, std::string_view callee,
                        const std::string& met) {
  const auto is_it = [&](const CodeLine::Argument& a) { return line.text_of(a.value) == name; };
  const auto is_same = [&](const CodeLine::Call& call) {
    return name_of_callee(line.text_of(call.callee)) == callee &&
           std::any_of(call.arguments.begin(), call.arguments.end(), is_it);
  };
  if (!callee.empty() && std::any_of(line.calls.begin(), line.calls.end(), is_same)) return true;
  const auto reads_both = [&](Span span) {
    const std::string_view text = line.text_of(span);
    return !places_of_word(text, name).empty() && !places_of_word(text, met).empty();
  };
  if (met.empty() || met == name) return false;
  return std::any_of(line.operations.begin(), line.operations.end(), [&](const auto& operation) {
    return operation.sign != "=" && reads_both({operation.left.begin, operation.right.end});
  });
}

bool CureWriter::is_read_again(const OpCall& call, const Operand& operand,
                               const Operand* met) const {
  const CodeLine line = line_of(call);
  const auto found = find(line, call, operand);
  if (!found) return false;
  if (stands_again(line, found->text)) return true;
  const std::string callee = callee_of(line, found->text.front());
  const std::string name(line.text_of(found->text.front()));
  const auto other = met == nullptr ? std::nullopt : find(line, call, *met);
  const std::string met_name = other ? std::string(line.text_of(other->text.front())) : "";
  if (callee.empty() && met_name.empty()) return false;
  const auto reads_it = [&](const CodeLine& next) -> std::optional<bool> {
    if (mixes_again(next, name, name_of_callee(callee), met_name)) return true;
    const std::vector<std::string> names = names_bound(next);
    const bool is_rebound = std::find(names.begin(), names.end(), name) != names.end() ||
                            std::find(names.begin(), names.end(), met_name) != names.end();
    return is_rebound ? std::optional(false) : std::nullopt;
  };
  return asked_below(options_.line_text, line, call.site.line, reads_it);
}

bool CureWriter::is_made_for_more(const OpCall& call, const Operand& operand,
                                  const OpCall* maker) const {
  return maker != nullptr && maker->site.line.file == call.site.line.file &&
         is_read_again(call, operand);
}

// All that the variable holds, cast: what it is the lines below tell, "batch["x"]", "x, y = batch"
// or "batch.x". "" where they tell nothing, or several.
std::string CureWriter::cast_container(const std::string& name, SourceLine below,
                                       const std::string& suffix) const {
  constexpr int kBlock = 12;
  bool is_dict = false, is_list = false, is_tuple = false;
  below.extent = {};
  for (int i = 0; i < kBlock; ++i) {
    ++below.line;
    const std::string text = CodeLine::at(options_.line_text, below).text;
    for (const size_t at : places_of_word(text, name)) {
      const std::string_view rest = std::string_view(text).substr(at + name.size());
      is_dict |= rest.starts_with("[\"") || rest.starts_with("['");
      is_list |= rest.size() > 1 && rest[0] == '[' && std::isdigit(rest[1]) != 0;
      is_tuple |= rest.size() > 1 && rest[0] == '.' && std::isalpha(rest[1]) != 0;
      const bool is_unpacked =
          trimmed(rest).empty() && text.find(',') < text.find('=') && text.find('=') < at;
      is_list |= is_unpacked;
    }
  }
  if (is_dict + is_list + is_tuple != 1) return "";
  if (is_dict) return fmt::format("{0} = {{k: v{1} for k, v in {0}.items()}}", name, suffix);
  if (is_list) return fmt::format("{0} = [t{1} for t in {0}]", name, suffix);
  return fmt::format("{0} = type({0})(*(t{1} for t in {0}))", name, suffix);
}

std::optional<Cure> CureWriter::cast_batch(const OpCall& call, const Operand& operand,
                                           Dtype dtype) const {
  const OpCall* origin = index_.run().call(operand.origin);
  if (origin == nullptr) {  // another process may have made it
    const Provenance way = index_.provenance().of(call, operand);
    if (!way.steps.empty() && way.steps.front().is_in_worker) origin = way.steps.front().call;
  }
  if (origin == nullptr || is_in_cpp(call) || !is_users_own(origin->site)) return std::nullopt;
  const SourceLine& drawn_at = origin->site.line;
  const std::vector<std::string> names = names_bound(line_of(*origin));
  if (names.empty() || !operand.has_shape || operand.shape.empty()) return std::nullopt;
  // What else the line makes of as many rows, and reads no more: one for each variable, in turn.
  std::vector<const OpCall*> drawn;
  uint64_t count = 0;  // calls that differ in their sizes alone are one signature
  for (const OpCall& other : index_.run().calls) {
    const bool is_beside = other.process == origin->process && other.parent == kNoOpCall &&
                           other.site.line.file == drawn_at.file &&
                           other.site.line.line == drawn_at.line && other.results.size() == 1;
    if (!is_beside) continue;
    const Operand& result = other.results.front();
    const bool has_rows =
        result.has_shape && !result.shape.empty() && result.shape.front() == operand.shape.front();
    const auto readers = index_.consumers(other);
    const bool is_read_here = std::any_of(readers.begin(), readers.end(), [&](OpCallId id) {
      const SourceLine& line = index_.run().call(id)->site.line;
      return line.file == drawn_at.file && line.line == drawn_at.line;
    });
    if (!has_rows || is_read_here) continue;
    drawn.push_back(&other);
    count += other.count;
  }
  // A worker has drawn more batches than one by then, each of the same tensors.
  const bool are_as_many = std::all_of(drawn.begin(), drawn.end(), [&](const OpCall* other) {
    return other->count == drawn.front()->count;
  });
  if (origin->process != call.process && are_as_many) count = drawn.size();
  const bool are_alike = std::all_of(drawn.begin(), drawn.end(), [&](const OpCall* other) {
    return other->results.front().dtypes == operand.dtypes;
  });
  const CodeLine line = line_of(call);
  Cure cure = cure_of(CureKind::kCastResult, *origin, "", dtype);
  if (names.size() == 1) {
    if (count < 2 || !are_alike) return std::nullopt;
    cure.code = cast_container(names.front(), drawn_at, cast_at(line, drawn_at, dtype));
    if (cure.code.empty()) return std::nullopt;
    cure.text = fmt::format("cast all that is drawn{}: {}", at(origin->site), cure.code);
    return cure;
  }
  if (count != names.size() || (!are_alike && drawn.size() != count)) return std::nullopt;
  const auto found = find(line, call, operand);
  const auto input = found ? std::nullopt : module_input(line, call, operand, names);
  const std::string text(found   ? line.text_of(found->text.front())
                         : input ? line.text_of(input->argument)
                                 : "");
  std::vector<std::string> left, right;
  if (std::find(names.begin(), names.end(), text) == names.end()) return std::nullopt;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!are_alike && (names[i] == text) != (drawn[i] == origin)) return std::nullopt;
    if (!are_alike && drawn[i]->results.front().dtypes != operand.dtypes) continue;
    left.push_back(names[i]);
    right.push_back(names[i] + cast_at(line, drawn_at, dtype));
  }
  if (left.size() < 2) return std::nullopt;
  cure.code = fmt::format("{} = {}", fmt::join(left, ", "), fmt::join(right, ", "));
  cure.text = fmt::format("cast all that is drawn{}: {}", at(origin->site), cure.code);
  return cure;
}

// The statement above, of the same function, that gives the variable its value, or the function's
// own head, whose parameter it is.
static std::optional<SourceLine> bound_above(const LineText& line_text, const CodeLine& line,
                                             SourceLine at, std::string_view name) {
  constexpr int kBlock = 20;
  size_t indent = line.text.find_first_not_of(" \t");
  at.extent = {};
  for (int i = 0; i < kBlock && at.line > 1; ++i) {
    --at.line;
    const CodeLine above = CodeLine::at(line_text, at);
    const size_t begin = above.text.find_first_not_of(" \t");
    if (begin == above.text.npos || begin > indent) continue;
    const std::vector<std::string> names = names_bound(above);
    if (std::find(names.begin(), names.end(), name) != names.end()) return at;
    indent = begin;
    if (!trimmed(above.text).starts_with("def ")) continue;
    const bool is_parameter = !places_of_word(above.text, name).empty();
    return is_parameter ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

// "torch.tensor np.stack" of "torch.tensor(np.stack(a))": what like expressions share.
static std::string callees_in(const CodeLine& line, Span span) {
  std::string all;
  for (const CodeLine::Call& call : line.calls) {
    const bool is_inside = span.begin <= call.whole.begin && call.whole.end <= span.end;
    if (is_inside) all += fmt::format("{} ", line.text_of(call.callee));
  }
  return all;
}

// Which of what a function returns, "return f(a), g(b), f(c)", is made as the one by this call of a
// line of that statement; nothing where the line is of another.
std::vector<size_t> CureWriter::returned_alike(const OpCall& origin, size_t count) const {
  constexpr int kLines = 6;
  SourceLine at = origin.site.line;
  at.extent = {};
  std::string text = std::string(trimmed(CodeLine::at(options_.line_text, at).text));
  for (int i = 0; i < kLines && !text.starts_with("return") && at.line > 1; ++i) {
    --at.line;
    text = std::string(trimmed(CodeLine::at(options_.line_text, at).text));
  }
  if (!text.starts_with("return")) return {};
  const std::string_view given = trimmed(std::string_view(text).substr(6));
  const CodeLine tuple(given.starts_with('(') ? std::string(given) : fmt::format("({})", given),
                       /*is_cpp=*/false);
  const std::vector<Span> elements = tuple.elements({0, tuple.text.size()});
  const CodeLine made = line_of(origin);
  const auto maker = made_text(made, origin);
  if (elements.size() != count || !maker) return {};
  const std::string own = callees_in(made, *maker);
  std::vector<size_t> alike;
  for (size_t i = 0; i < elements.size(); ++i) {
    if (callees_in(tuple, elements[i]) == own) alike.push_back(i);
  }
  return alike;
}

// "x, y = x.to(torch.float32), y.to(torch.float32)" below "x, t, y = sample()", where the function
// makes both alike.
std::optional<Cure> CureWriter::cast_returned(const OpCall& call, const Operand& operand,
                                              Dtype dtype) const {
  const OpCall* origin = index_.run().call(operand.origin);
  const CodeLine line = line_of(call);
  const bool has_line = origin != nullptr && origin->process == call.process &&
                        is_users_own(origin->site) && is_users_own(call.site) && !line.is_cpp &&
                        origin->site.line.function != call.site.line.function;
  if (!has_line) return std::nullopt;
  const auto found = find(line, call, operand);
  const auto input = found ? std::nullopt : module_input(line, call, operand);
  if (!found && !input) return std::nullopt;
  const std::string name(line.text_of(found ? found->text.front() : input->argument));
  const auto bound = bound_above(options_.line_text, line, call.site.line, name);
  if (!bound) return std::nullopt;
  const CodeLine drawn = CodeLine::at(options_.line_text, *bound);
  const std::vector<std::string> names = names_bound(drawn);
  const std::string_view function = name_of_callee(origin->site.line.function);
  const bool is_drawn =
      std::any_of(drawn.calls.begin(), drawn.calls.end(), [&](const CodeLine::Call& one) {
        return name_of_callee(drawn.text_of(one.callee)) == function;
      });
  if (names.size() < 2 || !is_drawn) return std::nullopt;
  const std::vector<size_t> alike = returned_alike(*origin, names.size());
  std::vector<std::string> left, right;
  for (const size_t i : alike) {
    left.push_back(names[i]);
    right.push_back(names[i] + cast_at(line, *bound, dtype));
  }
  if (left.size() < 2 || std::find(left.begin(), left.end(), name) == left.end())
    return std::nullopt;
  Cure cure = cure_of(CureKind::kCastResult, *origin, "", dtype);
  cure.where = *bound;
  cure.code = fmt::format("{} = {}", fmt::join(left, ", "), fmt::join(right, ", "));
  cure.text = fmt::format("cast all that is drawn{}: {}", at(Site{.line = *bound}), cure.code);
  return cure;
}

// The statement hands the variable to a layer: "self.head(f)", "model.head(f.mean(1))".
static bool is_given_to_layer(const CodeLine& line, const std::string& name,
                              const std::string& model) {
  return std::any_of(line.calls.begin(), line.calls.end(), [&](const CodeLine::Call& call) {
    const std::string_view callee = line.text_of(call.callee);
    const bool is_layer =
        callee.starts_with("self.") || (!model.empty() && callee.starts_with(model + "."));
    return is_layer && std::any_of(call.arguments.begin(), call.arguments.end(),
                                   [&](const CodeLine::Argument& argument) {
                                     const auto value = line.text_of(argument.value);
                                     return !places_of_word(value, name).empty();
                                   });
  });
}

bool CureWriter::is_read_by_next(const OpCall& call, const std::string& name) const {
  const auto hands_it_on = [&](const CodeLine& next) -> std::optional<bool> {
    if (is_given_to_layer(next, name, root_module(call.site.module))) return true;
    const std::vector<std::string> names = names_bound(next);
    if (std::find(names.begin(), names.end(), name) != names.end()) return false;
    return std::nullopt;
  };
  return asked_below(options_.line_text, line_of(call), call.site.line, hands_it_on);
}

std::optional<Cure> CureWriter::cast_variable(const OpCall& call, const Operand& operand,
                                              Dtype dtype) const {
  const OpCall* origin = index_.run().call(operand.origin);
  const CodeLine line = line_of(call);
  const bool has_line = origin != nullptr && is_users_own(call.site) && !is_in_cpp(call) &&
                        origin->process == call.process && !line.text.empty();
  if (!has_line) return std::nullopt;
  const auto found = find(line, call, operand);
  const auto input = found ? std::nullopt : module_input(line, call, operand);
  if (!found && !input) return std::nullopt;
  const std::string name(line.text_of(found ? found->text.front() : input->argument));
  if (name.empty() || !is_read_by_next(call, name)) return std::nullopt;
  const auto bound = bound_above(options_.line_text, line, call.site.line, name);
  if (!bound) return std::nullopt;
  Cure cure = cure_of(CureKind::kCastResult, *origin, "", dtype);
  cure.where = *bound;
  cure.code = fmt::format("{0} = {0}{1}", name, cast_at(line, *bound, dtype));
  cure.text =
      fmt::format("cast {} for all that read it{}: {}", name, at(Site{.line = *bound}), cure.code);
  return cure;
}

}  // namespace dtypecheck::rules
