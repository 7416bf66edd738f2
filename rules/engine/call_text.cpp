#include "rules/engine/call_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "core/dtype_names.h"
#include "platform/text.h"
#include "rules/engine/foreign_call.h"
#include "rules/engine/words.h"

namespace dtypecheck::rules {
namespace {

bool is_in(Span inner, Span outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end && outer != inner;
}

std::string_view bare(std::string_view name) {
  const size_t begin = name.find_first_not_of('_');
  return begin == name.npos ? name : name.substr(begin, name.find_last_not_of('_') + 1 - begin);
}

std::string_view last_part(std::string_view path) {
  const size_t dot = path.find_last_of(".:>");
  return path.substr(dot == path.npos ? 0 : dot + 1);
}

// What Python calls an op whose own name does not begin with it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kPythonNames = {
    {{"grid_sampler", "grid_sample"},
     {"lift_fresh", "tensor"},
     {"upsample_", "interpolate"},
     {"nll_loss", "cross_entropy"},
     {"cross_entropy_loss", "cross_entropy"},
     {"cat", "concat"},
     {"true_divide", "div"},
     {"multi_head_attention", "multi_head_attention_forward"},
     {"_scaled_dot_product", "scaled_dot_product_attention"},
     {"_index_put_impl_", "index_put"}}};

// The op is what the line calls by this name: "linalg.inv" is aten::linalg_inv.
bool is_called(const OpCall& op, std::string_view callee) {
  const std::string full(last_part(op.short_op()));  // also of "python::torch.tensor"
  const std::string_view name = bare(full);
  const size_t dot = callee.find_last_of(".:>");
  const std::string_view last = bare(callee.substr(dot == callee.npos ? 0 : dot + 1));
  if (last.size() < 2) return false;
  if (name == last ||
      (name.starts_with(last) && name.substr(last.size()).starts_with('_') && last.size() > 3)) {
    return true;
  }
  const bool is_qualified =
      name.size() > last.size() + 1 && name.ends_with(last) &&
      name[name.size() - last.size() - 1] == '_' &&
      callee.find(name.substr(0, name.size() - last.size() - 1)) != callee.npos;
  const auto is_alias = [&](const auto& names) {
    return full.starts_with(names.first) && last == names.second;
  };
  return is_qualified || std::any_of(kPythonNames.begin(), kPythonNames.end(), is_alias);
}

// "torch.nn.functional.relu", "F.relu", "at::relu": no tensor stands before the name.
bool is_function(std::string_view callee) {
  const size_t dot = callee.find_last_of(".:>");
  if (dot == callee.npos || callee[dot] == ':') return true;
  const std::string_view before = callee.substr(0, dot);
  if (before.find_first_of("([") != before.npos) return false;
  constexpr std::array<std::string_view, 5> kModules = {"F", "functional", "torch", "nn", "th"};
  return before.starts_with("torch.") || before.ends_with(".functional") ||
         std::find(kModules.begin(), kModules.end(), before) != kModules.end();
}

Span receiver(const CodeLine& line, const CodeLine::Call& call) {
  const std::string_view callee = line.text_of(call.callee);
  const size_t dot = callee.rfind(line.is_cpp && callee.find("->") != callee.npos ? "->" : ".");
  return {call.callee.begin, call.callee.begin + dot};
}

// The names of the tensors that the call takes, a list once, in the order of the schema.
std::vector<std::string_view> argument_names(const OpCall& op) {
  std::vector<std::string_view> names;
  for (const Operand& operand : op.operands) {
    const std::string_view name = list_name(operand.name);
    const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
    if (operand.role != Role::kOut && is_new) names.push_back(name);
  }
  return names;
}

// Python calls `self` input, and has a few names of its own.
bool is_named(std::string_view keyword, std::string_view argument) {
  const std::string_view name = bare(argument);
  return keyword == name || (keyword == "input" && (name == "self" || name == "bias")) ||
         (keyword == "tensor1" && name == "mat1") || (keyword == "hx" && name.ends_with("hx"));
}

// Their first argument behind the tensor is a dimension.
bool has_dimension_first(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOps = {"index_", "gather", "scatter", "select",
                                                    "cumsum"};
  return std::any_of(kOps.begin(), kOps.end(),
                     [&](std::string_view op) { return bare(name).starts_with(op); });
}

// Python's order is not the schema's, or numbers stand between the tensors: only the first is sure.
bool is_only_first_sure(std::string_view name) {
  constexpr std::array<std::string_view, 5> kOps = {"embedding", "batch_norm", "layer_norm",
                                                    "group_norm", "instance_norm"};
  return std::any_of(kOps.begin(), kOps.end(),
                     [&](std::string_view op) { return name.find(op) != name.npos; });
}

// 2 of "tensors[2]"; nothing where the operand is no element of a list.
std::optional<size_t> list_index(const std::string& name) {
  const size_t bracket = name.find('[');
  if (bracket == name.npos) return std::nullopt;
  return static_cast<size_t>(std::atoi(name.c_str() + bracket + 1));
}

// An element of a list that is written out, or the whole where it is not a list.
std::optional<Span> element_of(const CodeLine& line, Span argument, const std::string& name) {
  const std::optional<size_t> index = list_index(name);
  if (!index) return argument;
  const std::vector<Span> all = line.elements(argument);
  const bool is_written_out = all.size() > 1 || all.front() != argument;
  return is_written_out && *index < all.size() ? std::optional(all[*index]) : std::nullopt;
}

std::optional<Span> argument_of(const CodeLine& line, const CodeLine::Call& call, const OpCall& op,
                                const Operand& operand) {
  const std::string_view wanted = list_name(operand.name);
  for (const CodeLine::Argument& argument : call.arguments) {
    if (!argument.keyword.empty() && is_named(argument.keyword, wanted))
      return element_of(line, argument.value, operand.name);
  }
  if (call.has_star) return std::nullopt;
  const bool is_method = !is_function(line.text_of(call.callee));
  std::vector<Span> positions;
  if (is_method) positions.push_back(receiver(line, call));
  bool skips = has_dimension_first(op.short_op());
  for (const CodeLine::Argument& argument : call.arguments) {
    if (!argument.keyword.empty()) break;
    const bool is_dimension = skips && !positions.empty();
    skips = skips && !is_dimension;
    if (!is_dimension && line.may_be_tensor(argument.value)) positions.push_back(argument.value);
  }
  const std::vector<std::string_view> names = argument_names(op);
  size_t index = std::find(names.begin(), names.end(), wanted) - names.begin();
  if (op.short_op() == "embedding") index = wanted == "indices" ? 0 : positions.size();
  const bool is_sure = !is_only_first_sure(op.op) || index == 0;
  if (!is_sure || index >= positions.size()) return std::nullopt;
  // "einsum(equation, a, b)": a list given one by one.
  const std::optional<size_t> element = list_index(operand.name);
  const bool is_foreach = op.short_op().starts_with("_foreach");
  if (element && !is_foreach && index + 1 == names.size() && positions.size() > names.size()) {
    index += *element;
    return index < positions.size() ? std::optional(positions[index]) : std::nullopt;
  }
  return element_of(line, positions[index], operand.name);
}

struct Sign {
  std::string_view sign;
  std::string_view op;
};
constexpr std::array<Sign, 27> kSignOps = {{{"@", "matmul"},
                                            {"@", "mm"},
                                            {"@", "bmm"},
                                            {"@", "mv"},
                                            {"@", "dot"},
                                            {"+", "add"},
                                            {"-", "sub"},
                                            {"-", "rsub"},
                                            {"*", "mul"},
                                            {"/", "div"},
                                            {"**", "pow"},
                                            {"/", "true_divide"},
                                            {"//", "floor_divide"},
                                            {"%", "remainder"},
                                            {"&", "bitwise_and"},
                                            {"|", "bitwise_or"},
                                            {"^", "bitwise_xor"},
                                            {"<<", "lshift"},
                                            {">>", "rshift"},
                                            {"<<", "bitwise_left_shift"},
                                            {">>", "bitwise_right_shift"},
                                            {"<", "lt"},
                                            {"<=", "le"},
                                            {">", "gt"},
                                            {">=", "ge"},
                                            {"==", "eq"},
                                            {"!=", "ne"}}};

bool is_written_as(const OpCall& op, const CodeLine::Operation& operation) {
  const std::string full = op.short_op();
  std::string_view sign = operation.sign;
  if (operation.is_unary()) return bare(full) == (sign == "-" ? "neg" : "bitwise_not");
  if (sign.size() > 1 && sign.ends_with('=') && full.ends_with('_')) sign.remove_suffix(1);
  return std::any_of(kSignOps.begin(), kSignOps.end(), [&](const Sign& known) {
    return known.sign == sign && known.op == bare(full);
  });
}

// The only one on the line that calls the op.
const CodeLine::Operation* operation_of(const CodeLine& line, const OpCall& op) {
  const CodeLine::Operation* found = nullptr;
  for (const CodeLine::Operation& operation : line.operations) {
    if (!is_written_as(op, operation)) continue;
    if (found != nullptr) return nullptr;
    found = &operation;
  }
  return found;
}

std::optional<Span> side_of(const CodeLine& line, const OpCall& op, const Operand& operand) {
  const std::string_view name = operand.name;
  const bool is_left = name == "self" || name == "input" || name == "tensor";
  const bool is_right =
      name == "other" || name == "mat2" || name == "tensor2" || name == "vec" || name == "exponent";
  const CodeLine::Operation* found = operation_of(line, op);
  if (found == nullptr || is_left == is_right) return std::nullopt;
  const bool is_first = is_left != (bare(op.short_op()) == "rsub");
  return is_first && !found->is_unary() ? found->left : found->right;
}

// "a[index] = value"
std::optional<Span> of_subscript(const CodeLine& line, const OpCall& op, const Operand& operand) {
  const std::string whole = op.short_op();
  const std::string_view name = bare(whole);
  if (!name.starts_with("index_put") && name != "index" && name != "copy") return std::nullopt;
  const bool is_value = operand.name == "values" || operand.name == "src";
  const CodeLine::Operation* assignment = nullptr;
  for (const CodeLine::Operation& operation : line.operations) {
    const bool is_put = operation.sign == "=" && line.text_of(operation.left).ends_with(']');
    if (is_put && assignment != nullptr) return std::nullopt;
    if (is_put) assignment = &operation;
  }
  if (is_value) return assignment ? std::optional(assignment->right) : std::nullopt;
  if (!operand.name.starts_with("indices") || line.subscripts.size() != 1) return std::nullopt;
  return element_of(line, line.subscripts.front().index, "indices");
}

// Places of a variable or attribute, not as a part of a longer one.
std::vector<Span> occurrences(const CodeLine& line, std::string_view name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  };
  std::vector<Span> found;
  const std::string& text = line.text;
  for (size_t at = text.find(name); !name.empty() && at != text.npos;
       at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool is_whole = (at == 0 || !is_part(text[at - 1])) &&
                          (end == text.size() || (!is_part(text[end]) && text[end] != '('));
    if (is_whole) found.push_back({at, end});
  }
  return found;
}

// What refuses in Python has its variables for operands: the one place of the line that reads this.
std::optional<Span> variable_read(const CodeLine& line, const OpCall& op, const Operand& operand) {
  if (!op.op.starts_with("python::") || operand.name.find('.') == operand.name.npos)
    return std::nullopt;
  std::vector<Span> found = occurrences(line, operand.name);
  for (const CodeLine::Operation& operation : line.operations) {
    if (operation.sign != "=") continue;
    std::erase_if(found, [&](Span span) {
      return operation.left.begin <= span.begin && span.end <= operation.left.end;
    });
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

// How many parts of the module's path the callee is the last of: 2 of "unet.conv_in.0" for
// "self.conv_in"; all of them for "nn.Conv2d(3, 3, 3)", a module of this class made on the line.
size_t depth_in(std::string_view callee, const Site& site) {
  if (callee.ends_with(')')) {
    const std::string_view made = callee.substr(0, callee.find('('));
    return last_part(made) == site.module_class
               ? std::count(site.module.begin(), site.module.end(), '.') + 1
               : 0;
  }
  size_t depth = 0, at = 0;
  std::string_view rest = site.module;
  const std::string_view last = last_part(callee);
  if (last == site.module_class) return 0;  // makes the module
  while (!rest.empty()) {
    ++at;
    if (next_piece(rest, '.') == last) depth = at;
  }
  return depth;
}

std::string first_parts(std::string_view path, size_t count) {
  size_t end = 0;
  for (size_t i = 0; i < count && end != path.npos; ++i) end = path.find('.', end + (i > 0));
  return std::string(path.substr(0, end));
}

// A model hands its "labels" to a loss as the target, and its "class_labels" to its
// "class_embedding".
bool is_handed_as(std::string_view keyword, std::string_view name, const Site& site) {
  constexpr size_t kShortest = 4;  // "id", "to" and the like are in many names
  if (name == "target") return keyword == "labels" || keyword == "targets";
  if (name != "indices") return false;
  std::string_view rest = last_part(site.module);
  while (!rest.empty()) {
    const std::string_view word = next_piece(rest, '_');
    if (word.size() >= kShortest && keyword.starts_with(word)) return true;
  }
  return false;
}

// Which argument of a module an operand is: the only one, what its name says, or the only variable
// that the line gave a value to which made the operand.
const CodeLine::Argument* module_argument(const CodeLine& line, const CodeLine::Call& call,
                                          const OpCall& op, const Operand& operand,
                                          const std::vector<std::string>& made) {
  if (call.has_star) return nullptr;
  const std::string_view name = bare(list_name(operand.name));
  const bool is_hidden = name == "hx" || name == "cx";
  if (call.arguments.size() == 1) return is_hidden ? nullptr : &call.arguments.front();
  const bool is_attention = op.site.module_class == "MultiheadAttention";
  for (const CodeLine::Argument& argument : call.arguments) {
    if (argument.keyword.empty()) continue;
    if (argument.keyword == name || is_handed_as(argument.keyword, name, op.site) ||
        (is_attention && argument.keyword == "attn_mask" && (name == "bias" || name == "self"))) {
      return &argument;
    }
  }
  if (is_hidden && call.arguments.size() == 2) return &call.arguments[1];
  if (name == "offsets" && call.arguments.size() > 1 && call.arguments[1].keyword.empty())
    return &call.arguments[1];  // of an EmbeddingBag
  const bool is_input = name == "input" || name == "mat1" || name == "self";
  const bool is_recurrent = op.site.module_class.find("LSTM") != std::string::npos ||
                            op.site.module_class.find("GRU") != std::string::npos ||
                            op.site.module_class.find("RNN") != std::string::npos;
  if (is_input && is_recurrent && !call.arguments.empty()) return &call.arguments.front();
  const CodeLine::Argument* found = nullptr;
  for (const CodeLine::Argument& argument : call.arguments) {
    if (std::find(made.begin(), made.end(), line.text_of(argument.value)) == made.end()) continue;
    if (found != nullptr) return nullptr;
    found = &argument;
  }
  return found;
}

}  // namespace

Patch with_suffix(const CodeLine& line, Span expression, std::string_view suffix) {
  const std::string old_text(line.text_of(expression));
  std::string new_text =
      (line.is_primary(expression) ? old_text : "(" + old_text + ")") + std::string(suffix);
  const std::vector<Span> elements = line.elements(expression);
  if (elements.size() > 1) {  // a pair of hidden states
    std::vector<std::string> all;
    for (const Span element : elements)
      all.push_back(std::string(line.text_of(element)) + std::string(suffix));
    new_text = fmt::format("({})", fmt::join(all, ", "));
  }
  if (line.is_unique(expression)) return {old_text, new_text};
  std::vector<Span> around;
  for (const CodeLine::Call& call : line.calls) around.push_back(call.whole);
  for (const CodeLine::Subscript& subscript : line.subscripts) around.push_back(subscript.whole);
  for (const CodeLine::Operation& operation : line.operations)
    around.push_back({operation.left.begin, operation.right.end});
  std::erase_if(around,
                [&](Span span) { return !is_in(expression, span) || !line.is_unique(span); });
  const auto size = [](Span span) { return span.end - span.begin; };
  const auto smallest = std::min_element(around.begin(), around.end(),
                                         [&](Span a, Span b) { return size(a) < size(b); });
  if (smallest == around.end()) return {"", new_text};
  const std::string whole(line.text_of(*smallest));
  const size_t at = expression.begin - smallest->begin;
  return {whole, whole.substr(0, at) + new_text + whole.substr(at + old_text.size())};
}

Patch with_suffix(const CodeLine& line, const std::vector<Span>& spans, std::string_view suffix) {
  if (spans.size() == 1) return with_suffix(line, spans.front(), suffix);
  Span whole{spans.front().begin, spans.back().end};
  for (const CodeLine::Call& call : line.calls) {
    const bool has_end =
        call.whole.begin <= spans.back().begin && spans.back().end <= call.whole.end;
    const bool has_begin =
        call.whole.begin <= spans.front().begin && spans.front().end <= call.whole.end;
    if (has_begin && !has_end) whole.begin = std::min(whole.begin, call.whole.begin);
    if (has_end && !has_begin) whole.end = std::max(whole.end, call.whole.end);
  }
  std::string text(line.text_of(whole));
  for (auto at = spans.rbegin(); at != spans.rend(); ++at) {
    const std::string one(line.text_of(*at));
    const std::string changed = line.is_primary(*at) ? one : "(" + one + ")";
    text.replace(at->begin - whole.begin, one.size(), changed + std::string(suffix));
  }
  return {line.is_unique(whole) ? std::string(line.text_of(whole)) : "", text};
}

// Asks of the call that the interpreter names first, and of the whole line where that has no
// answer.
template <typename Find>
static auto in_focus(const CodeLine& line, Find find) {
  if (const auto focused = line.focused()) {
    if (auto found = find(*focused)) return found;
  }
  return find(line);
}

static std::vector<Span> operand_in(const CodeLine& line, const OpCall& call,
                                    const Operand& operand) {
  if (const auto foreign = foreign_call(line, call)) {
    std::vector<Span> given;
    for (const ForeignCall::Argument& argument : foreign->arguments) {
      if (argument.operand->name == operand.name) given.push_back(argument.text);
    }
    if (given.size() == 1) return given;
  }
  std::vector<Span> found;
  bool is_called_here = false;
  for (const CodeLine::Call& candidate : line.calls) {
    const std::string_view callee = line.text_of(candidate.callee);
    // "self.linear(x)" may be a module: see module_input().
    const bool is_module = callee.starts_with("self.") && depth_in(callee, call.site) > 0;
    if (is_module || !is_called(call, callee)) continue;
    is_called_here = true;
    const auto argument = argument_of(line, candidate, call, operand);
    const bool is_alike =
        argument && (found.empty() || line.text_of(found.front()) == line.text_of(*argument));
    if (!is_alike) return {};
    found.push_back(*argument);
  }
  std::sort(found.begin(), found.end(), [](Span a, Span b) { return a.begin < b.begin; });
  if (is_called_here) return found;
  if (const auto side = side_of(line, call, operand)) return {*side};
  if (const auto part = of_subscript(line, call, operand)) return {*part};
  if (const auto variable = variable_read(line, call, operand)) return {*variable};
  return {};
}

// Of several calls that are given the same text each has the same fault, so they stay together.
std::vector<Span> operand_text(const CodeLine& line, const OpCall& call, const Operand& operand) {
  std::vector<Span> all = operand_in(line, call, operand);
  const auto focused = line.focused();
  const std::vector<Span> one = focused ? operand_in(*focused, call, operand) : std::vector<Span>();
  // An op inside of the one that the interpreter names may be called by another sign of the line:
  // the bmm of "x @ torch.einsum(…)".
  if (focused && one.empty())
    std::erase_if(all, [&](Span span) { return !is_in(span, line.focus) && span != line.focus; });
  const bool is_among = one.empty() || std::find(all.begin(), all.end(), one.front()) != all.end();
  return is_among ? all : one;
}

bool stands_again(const CodeLine& line, const std::vector<Span>& spans) {
  if (spans.empty() || !line.is_primary(spans.front())) return false;
  return occurrences(line, line.text_of(spans.front())).size() > spans.size();
}

const Operand* same_tensor(const OpCall& call, const Operand& operand) {
  const Operand* found = nullptr;
  for (const Operand& other : call.operands) {
    const bool is_same = other.dtypes == operand.dtypes && other.origin == operand.origin &&
                         other.parameter == operand.parameter;
    if (!is_same) continue;
    if (other.name == operand.name) return &other;
    if (found != nullptr) return nullptr;
    found = &other;
  }
  return found;
}

static std::optional<ModuleInput> module_input_in(const CodeLine& line, const OpCall& call,
                                                  const Operand& operand,
                                                  const std::vector<std::string>& made) {
  const CodeLine::Call* found = nullptr;
  size_t depth = 0;
  bool is_one = true;
  for (const CodeLine::Call& candidate : line.calls) {
    const size_t own = depth_in(line.text_of(candidate.callee), call.site);
    if (own == 0 || own < depth) continue;
    is_one = own > depth;
    depth = own;
    found = &candidate;
  }
  if (found == nullptr || !is_one) return std::nullopt;
  const CodeLine::Argument* argument = module_argument(line, *found, call, operand, made);
  if (argument == nullptr) return std::nullopt;
  return ModuleInput{argument->value, argument->keyword, first_parts(call.site.module, depth),
                     found->arguments.size() == 1};
}

std::optional<ModuleInput> module_input(const CodeLine& line, const OpCall& call,
                                        const Operand& operand,
                                        const std::vector<std::string>& made) {
  return in_focus(line,
                  [&](const CodeLine& part) { return module_input_in(part, call, operand, made); });
}

std::vector<std::string> names_bound(const CodeLine& line) {
  Span targets;
  const size_t in = line.text.find(" in ");
  const size_t begin = line.text.find_first_not_of(" \t");
  if (begin != line.text.npos && line.text.compare(begin, 4, "for ") == 0 && in != line.text.npos)
    targets = {line.text.find_first_not_of(' ', begin + 4), in};
  for (const CodeLine::Operation& operation : line.operations) {
    if (operation.sign != "=") continue;
    if (targets.end != 0) return {};  // "a = b = …"
    targets = {begin, operation.left.end};
  }
  if (targets.end <= targets.begin) return {};
  std::vector<std::string> names;
  std::string_view rest = trimmed(line.text_of(targets));
  // "for step, (x, y) in enumerate(loader):" draws what is in the brackets.
  const size_t open = rest.find('(');
  if (open != rest.npos && open > 0 && rest.ends_with(')') &&
      line.text.compare(in == line.text.npos ? 0 : in, 14, " in enumerate(") == 0)
    rest = rest.substr(open);
  if (rest.starts_with('(') && rest.ends_with(')')) rest = rest.substr(1, rest.size() - 2);
  while (!rest.empty()) {
    const std::string_view name = trimmed(next_piece(rest, ','));
    const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    });
    if (!is_name) return {};
    names.emplace_back(name);
  }
  return names;
}

static std::optional<Span> made_in(const CodeLine& line, const OpCall& maker) {
  const CodeLine::Call* found = nullptr;
  const std::string op = maker.short_op();
  const bool is_cast = bare(last_part(op)).starts_with("to") && !maker.op.starts_with("python::");
  for (const CodeLine::Call& call : line.calls) {
    const std::string_view callee = line.text_of(call.callee);
    constexpr std::array<std::string_view, 7> kCasts = {"to",     "half", "float", "bfloat16",
                                                        "double", "long", "type"};
    const std::string_view last = last_part(callee);
    const bool is_it =
        is_cast ? last != callee && std::find(kCasts.begin(), kCasts.end(), last) != kCasts.end()
                : is_called(maker, callee);
    if (!is_it) continue;
    if (found != nullptr) return std::nullopt;
    found = &call;
  }
  return found == nullptr ? std::nullopt : std::optional(found->whole);
}

std::optional<Span> made_text(const CodeLine& line, const OpCall& maker) {
  return in_focus(line, [&](const CodeLine& part) { return made_in(part, maker); });
}

namespace {

using Ways = std::vector<std::pair<std::string, std::string>>;

// What asks for a dtype, and what asks for another in its place.
Ways ways_in_python(const DtypeNames& from, const DtypeNames& to) {
  const auto method = [](const DtypeNames& names) {
    return fmt::format(".{}()", names.shorter != nullptr ? names.shorter : names.torch);
  };
  Ways ways = {{method(from), method(to)}, {torch_dtype(from.dtype), torch_dtype(to.dtype)}};
  if (from.shorter != nullptr)
    ways.emplace_back(fmt::format("torch.{}", from.shorter), torch_dtype(to.dtype));
  return ways;
}

// torch::kHalf, at::kHalf, torch::kFloat16, at::ScalarType::Half.
Ways ways_in_cpp(const DtypeNames& from, const DtypeNames& to) {
  std::string sized = from.torch;
  sized.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sized.front())));
  const std::string instead = fmt::format("k{}", to.name);
  return {{fmt::format("k{}", from.name), instead},
          {fmt::format("k{}", sized), instead},
          {fmt::format("ScalarType::{}", from.name), fmt::format("ScalarType::{}", to.name)}};
}

}  // namespace

std::optional<Patch> other_dtype(const CodeLine& line, Dtype dtype, Dtype instead) {
  const DtypeNames* from = names_of(dtype);
  const DtypeNames* to = names_of(instead);
  if (from == nullptr || to == nullptr) return std::nullopt;
  const Ways ways = line.is_cpp ? ways_in_cpp(*from, *to) : ways_in_python(*from, *to);
  for (const auto& [old_text, new_text] : ways) {
    const std::vector<size_t> places = places_of_word(line.text, old_text);
    if (places.size() != 1) continue;
    // The whole expression, so that a person sees what it is about.
    const size_t at = places.front();
    const Span found{at, at + old_text.size()};
    Span shown = found;
    for (const CodeLine::Call& call : line.calls) {
      const bool is_smaller = shown == found || is_in(call.whole, shown);
      if (is_in(found, call.whole) && is_smaller && line.is_unique(call.whole)) shown = call.whole;
    }
    const std::string whole(line.text_of(shown));
    const size_t inner = at - shown.begin;
    return Patch{whole, whole.substr(0, inner) + new_text + whole.substr(inner + old_text.size())};
  }
  return std::nullopt;
}

static std::optional<Span> called_on_in(const CodeLine& line, std::string_view method) {
  const CodeLine::Call* found = nullptr;
  for (const CodeLine::Call& call : line.calls) {
    const std::string_view callee = line.text_of(call.callee);
    if (callee.size() <= method.size() + 1 || last_part(callee) != method) continue;
    if (found != nullptr) return std::nullopt;
    found = &call;
  }
  return found == nullptr ? std::nullopt : std::optional(receiver(line, *found));
}

std::optional<Span> called_on(const CodeLine& line, std::string_view method) {
  return in_focus(line, [&](const CodeLine& part) { return called_on_in(part, method); });
}

static std::optional<Span> inverted_in(const CodeLine& line) {
  std::optional<Span> found;
  for (const CodeLine::Operation& operation : line.operations) {
    if (operation.sign != "~") continue;
    if (found) return std::nullopt;
    found = operation.right;
  }
  return found;
}

std::optional<Span> inverted(const CodeLine& line) {
  return in_focus(line, [](const CodeLine& part) { return inverted_in(part); });
}

static std::optional<Span> number_in(const CodeLine& line, double value) {
  std::optional<Span> found;
  for (const CodeLine::Call& call : line.calls) {
    for (const CodeLine::Argument& argument : call.arguments) {
      const std::string text(line.text_of(argument.value));
      char* end = nullptr;
      const bool is_it = std::strtod(text.c_str(), &end) == value && *end == '\0' && !text.empty();
      if (is_it && found) return std::nullopt;
      if (is_it) found = argument.value;
    }
  }
  return found;
}

std::optional<Span> number_text(const CodeLine& line, double value) {
  return in_focus(line, [&](const CodeLine& part) { return number_in(part, value); });
}

static std::string bracketed(const CodeLine& line, Span span) {
  const bool is_one = line.is_primary(span) || !line.may_be_tensor(span);
  return is_one ? std::string(line.text_of(span)) : fmt::format("({})", line.text_of(span));
}

static Patch in_place_of(const CodeLine& line, Span whole, std::string text) {
  return {line.is_unique(whole) ? std::string(line.text_of(whole)) : "", std::move(text)};
}

// "a = a / 2" of "a /= 2".
static std::optional<Patch> sign_not_in_place(const CodeLine& line, const OpCall& call) {
  const CodeLine::Operation* found = operation_of(line, call);
  if (found == nullptr || found->is_unary() || !found->sign.ends_with('=')) return std::nullopt;
  const std::string_view left = line.text_of(found->left);
  const std::string_view sign = std::string_view(found->sign).substr(0, found->sign.size() - 1);
  return in_place_of(line, {found->left.begin, found->right.end},
                     fmt::format("{0} = {0} {1} {2}", left, sign, bracketed(line, found->right)));
}

// "n = n.sqrt()" of "n.sqrt_()", where that is the whole statement.
static std::optional<Patch> method_not_in_place(const CodeLine& line, const OpCall& call) {
  const std::string_view statement = trimmed(line.text);
  for (const CodeLine::Call& method : line.calls) {
    const std::string_view callee = line.text_of(method.callee);
    if (line.is_cpp || line.text_of(method.whole) != statement) continue;
    if (last_part(callee) != call.short_op() || is_function(callee)) continue;
    const std::string_view variable = line.text_of(receiver(line, method));
    if (variable.find_first_of("([ ") != variable.npos) continue;
    const std::string_view arguments = statement.substr(callee.size());
    return in_place_of(
        line, method.whole,
        fmt::format("{} = {}{}", variable, callee.substr(0, callee.size() - 1), arguments));
  }
  return std::nullopt;
}

std::optional<Patch> not_in_place(const CodeLine& line, const OpCall& call) {
  if (!call.short_op().ends_with('_')) return std::nullopt;
  return in_focus(line, [&](const CodeLine& part) {
    auto patch = sign_not_in_place(part, call);
    return patch ? patch : method_not_in_place(part, call);
  });
}

std::optional<Patch> other_sign(const CodeLine& line, const OpCall& call,
                                std::string_view instead) {
  return in_focus(line, [&](const CodeLine& part) -> std::optional<Patch> {
    const CodeLine::Operation* found = operation_of(part, call);
    if (found == nullptr || found->is_unary()) return std::nullopt;
    const std::string right = bracketed(part, found->right);
    return in_place_of(part, {found->left.begin, found->right.end},
                       fmt::format("{} {} {}", part.text_of(found->left), instead, right));
  });
}

std::optional<Patch> inverse(const CodeLine& line, const OpCall& call) {
  return in_focus(line, [&](const CodeLine& part) -> std::optional<Patch> {
    const CodeLine::Operation* found = operation_of(part, call);
    if (found == nullptr) return std::nullopt;
    return in_place_of(part, {found->left.begin, found->right.end},
                       "~" + bracketed(part, found->right));
  });
}

std::string python_path(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::string_view part = next_piece(path, '.');
    const bool is_index =
        std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    text += is_index && !text.empty() ? fmt::format("[{}]", part)
                                      : (text.empty() ? "" : ".") + std::string(part);
  }
  return text;
}

}  // namespace dtypecheck::rules
