#include "rules/contracts/contracts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "ops/arguments.h"
#include "ops/ops.h"
#include "platform/error.h"
#include "rules/contracts/table.h"

namespace dtypecheck::contracts {
namespace {

// An op call as the tables name it.
struct Question {
  std::string op;           // "aten::add.Tensor"
  std::string operands;     // "self,other()"
  std::string combination;  // "fh"
  bool is_uniform = false;  // one dtype: which tensors promote is all the same then
  bool wants_grad = false;
};

// "tensors[2]" to "tensors".
std::string_view list_of(std::string_view name) {
  return name.ends_with(']') ? name.substr(0, name.find('[')) : name;
}

// One argument: a tensor, or the elements of a list.
struct Argument {
  std::string_view name;
  bool is_list = false;
  bool is_scalar = false;  // without dimensions
  std::string letters;     // of a list each letter once, in the order of its elements
};

// Nothing where an operand is of a kind or dtype that the tables do not speak of.
std::optional<std::vector<Argument>> arguments_of(const OpCall& call) {
  std::vector<Argument> arguments;
  for (const Operand& operand : call.operands) {
    if (operand.kind == TensorKind::kUndefined || operand.is_wrapped_number) continue;
    const std::optional<Dtype> dtype = operand.dtypes.single();
    if (operand.kind != TensorKind::kDense || !dtype) return std::nullopt;
    const char letter = operand_letter(*dtype);
    if (letter == '\0' && !(kFloating | kComplex).contains(*dtype)) continue;
    if (letter == '\0') return std::nullopt;
    const std::string_view name = list_of(operand.name);
    const bool is_list = name.size() != operand.name.size();
    if (!is_list || arguments.empty() || arguments.back().name != name) {
      arguments.push_back({name, is_list, operand.has_shape && operand.shape.empty(), ""});
    }
    std::string& letters = arguments.back().letters;
    if (letters.find(letter) == letters.npos) letters += letter;
  }
  return arguments;
}

std::string operand_name(const OpCall& call, const Argument& argument) {
  std::string name(ops::schema_argument(call.op, argument.name));
  if (argument.is_list) return name + "[]";
  return argument.is_scalar ? name + "()" : name;
}

std::optional<Question> question_of(const OpCall& call) {
  const auto arguments = arguments_of(call);
  if (!arguments || arguments->empty()) return std::nullopt;
  // With a dtype among the arguments, the result has that one, whatever was measured without.
  if (std::any_of(call.scalars.begin(), call.scalars.end(),
                  [](const ScalarArgument& scalar) { return scalar.dtype.has_value(); }))
    return std::nullopt;
  Question question{.op = ops::without_alias(call.op)};
  if (!call.overload.empty()) question.op += "." + call.overload;
  for (const Argument& argument : *arguments) {
    const size_t most = argument.is_list && arguments->size() == 1 ? 2 : 1;
    if (argument.letters.size() > most) return std::nullopt;
    if (!question.operands.empty()) question.operands += ',';
    question.operands += operand_name(call, argument);
    question.combination += argument.letters;
  }
  const std::string& all = question.combination;
  question.is_uniform = all.find_first_not_of(all[0]) == all.npos;
  question.wants_grad = std::any_of(call.operands.begin(), call.operands.end(),
                                    [](const Operand& operand) { return operand.requires_grad; });
  return question;
}

std::string without_marks(std::string_view operands) {
  std::string out;
  for (const char c : operands) {
    if (c != '(' && c != ')') out += c;
  }
  return out;
}

// The rows of the table that the question may be about. A trace in text form and C++ source leave
// the overload out: where several fit, they have to agree.
std::vector<const Op*> find_ops(const Table& table, const Question& question) {
  std::vector<const Op*> exact;
  std::vector<const Op*> alike;
  for (const Op* op : table.ops_named(question.op)) {
    if (op->operands == question.operands) exact.push_back(op);
    if (question.is_uniform && without_marks(op->operands) == without_marks(question.operands))
      alike.push_back(op);
  }
  const auto is_named = [&](const Op* op) { return op->name == question.op; };
  for (const auto* candidates : {&exact, &alike}) {
    const auto own = std::find_if(candidates->begin(), candidates->end(), is_named);
    if (own != candidates->end()) return {*own};
    if (!candidates->empty()) return *candidates;
  }
  return {};
}

// How LibTorch spells a dtype in messages, by the letter of the placeholder.
std::string spelled(char style, char letter) {
  const Dtype dtype = dtype_of(letter);
  switch (style) {
    case 'T':
      return cpp_type(dtype);
    case 'P':
      return torch_dtype(dtype);
    case 'H':
      return fmt::format("torch.{}Tensor", dtype_name(dtype));
    case 'G':
      return fmt::format("torch.cuda.{}Tensor", dtype_name(dtype));
    case 'C':
      return fmt::format("CPU{}Type", dtype_name(dtype));
    default:
      return dtype_name(dtype);
  }
}

// {S1}: the second letter of the combination; {SA}: autocast's dtype.
std::string filled(std::string_view text, std::string_view combination, char autocast) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_placeholder = text[i] == '{' && i + 3 < text.size() && text[i + 3] == '}' &&
                                std::string_view("STPHGC").find(text[i + 1]) != text.npos;
    const char which = is_placeholder ? text[i + 2] : '\0';
    const size_t position = which >= '0' && which <= '9' ? static_cast<size_t>(which - '0') : 99;
    const char letter = which == 'A'                    ? autocast
                        : position < combination.size() ? combination[position]
                                                        : '\0';
    if (letter == '\0') {
      out += text[i];
      continue;
    }
    out += spelled(text[i + 1], letter);
    i += 3;
  }
  return out;
}

Answer answer_of(const Table& table, const Row& row, const std::string& combination,
                 char autocast) {
  const std::string_view outcome = outcome_in(row.pattern, combination);
  if (outcome.empty() || outcome == "?") return {};
  if (outcome.front() != 'm') {
    Answer answer{.verdict = Verdict::kAccepts};
    for (const char letter : outcome) {
      if (letter != '.' && letter != '-') answer.results.push_back(dtype_of(letter));
    }
    return answer;
  }
  uint32_t number = 0;
  std::from_chars(outcome.data() + 1, outcome.data() + outcome.size(), number);
  const Message& message = table.messages.at(number);  // the reader has seen that it is there
  return {.verdict = Verdict::kRejects,
          .message = filled(message.text, combination, autocast),
          .error_type = message.type};
}

// What one op of the table answers, which this runtime has. Autocast and wanted gradients have rows
// of their own only where they change the answer.
Answer answer_of(const Table& table, const Op& op, size_t column, const Question& question,
                 const OpCall& call, Mode mode) {
  if (!is_combination(op.operands, question.combination)) return {};
  const Row* row = table.row(op, "plain", column);
  char autocast = '\0';
  if (mode == Mode::kAutocast) {
    const AutocastState::Region* region = call.autocast.region_for(call.device_type());
    if (region == nullptr) return {};
    const Runtime& runtime = table.runtimes[column];
    const std::string name = "autocast:" + dtype_name(region->dtype);
    const bool is_measured = runtime.has_mode(name);
    // The CPU's autocast turns itself off, with a warning, for a dtype that it does not do.
    if (!is_measured && runtime.device != "cpu") return {};
    const Row* own = is_measured ? table.row(op, name, column) : nullptr;
    if (own != nullptr) row = own;
    if (own != nullptr) autocast = operand_letter(region->dtype);
  } else if (mode == Mode::kBackward) {
    row = table.row(op, "backward", column);
    if (row == nullptr) return {};
  } else if (question.wants_grad) {
    const Row* own = table.row(op, "grad", column);
    if (own != nullptr) row = own;
  }
  return answer_of(table, *row, question.combination, autocast);
}

// "2.11" of "2.11.0+cu130".
std::string_view minor_of(std::string_view version) {
  const size_t dot = version.find('.');
  if (dot == version.npos) return version;
  return version.substr(0,
                        std::min(version.find_first_not_of("0123456789", dot + 1), version.size()));
}

std::pair<int, int> number_of(std::string_view version) {
  int parts[2] = {0, 0};
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, parts[0]);
  if (first.ptr < end) std::from_chars(first.ptr + 1, end, parts[1]);
  return {parts[0], parts[1]};
}

}  // namespace

std::string Runtime::to_string() const { return device + ":" + version; }

bool Runtime::has_mode(std::string_view mode) const {
  std::string_view rest = modes;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (rest.substr(0, end) == mode) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

Target parse_target(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const Target target{std::string(text.substr(0, colon)),
                      std::string(text.substr(std::min(colon + 1, text.size())))};
  const bool is_version = !target.version.empty() &&
                          target.version.find_first_not_of("0123456789.") == std::string::npos;
  if (target.device.empty() || !is_version) {
    throw InputError(
        fmt::format("{}: expected DEVICE:VERSION such as cuda:2.11 or cpu:1.13", text));
  }
  return target;
}

void Contracts::add(std::string text, const std::string& name) {
  tables_.push_back(read_table(std::move(text), name));
  const Table& table = *tables_.back();
  for (size_t column = 0; column < table.runtimes.size(); ++column) {
    runtimes_.push_back(table.runtimes[column]);
    places_.push_back({tables_.size() - 1, column});
  }
}

std::optional<size_t> Contracts::find(std::string_view device, std::string_view version) const {
  for (size_t i = runtimes_.size(); i-- > 0;) {
    const Runtime& runtime = runtimes_[i];
    if (runtime.device == device && minor_of(runtime.version) == minor_of(version)) return i;
  }
  return std::nullopt;
}

size_t Contracts::find_target(const Target& target) const {
  if (const auto found = find(target.device, target.version)) return *found;
  throw InputError(
      fmt::format("--target {}:{}: no contracts of it; known are {}; dtypecheck probe "
                  "measures others, --contracts FILE reads them",
                  target.device, target.version, list_of_runtimes()));
}

std::string Contracts::list_of_runtimes() const {
  std::map<std::string, std::vector<std::string>> versions;
  for (const Runtime& runtime : runtimes_) {
    versions[runtime.device].push_back(runtime.version +
                                       (runtime.measured ? "" : " (read, not measured)"));
  }
  std::vector<std::string> parts;
  for (const auto& [device, list] : versions)
    parts.push_back(fmt::format("{}: {}", device, fmt::join(list, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Answer Contracts::ask(size_t runtime, const OpCall& call, Mode mode) const {
  const auto question = question_of(call);
  if (!question || runtime >= places_.size()) return {};
  const auto [table_index, column] = places_[runtime];
  const Table& table = *tables_[table_index];
  std::optional<Answer> agreed;
  for (const Op* op : find_ops(table, *question)) {
    if (table.row(*op, "plain", column) == nullptr) continue;  // this runtime does not have it
    const Answer answer = answer_of(table, *op, column, *question, call, mode);
    if (agreed && answer != *agreed) return {};
    agreed = answer;
  }
  return agreed.value_or(Answer{});
}

const Behaviour& Contracts::behaviour(std::string_view op, size_t runtime) const {
  static const Behaviour unknown;
  if (runtime >= places_.size()) return unknown;
  return behaviour_of(*tables_[places_[runtime].table], places_[runtime].column,
                      ops::without_alias(op));
}

const Behaviour& Contracts::behaviour(std::string_view op) const {
  return behaviour(op, newest("cpu").value_or(runtimes_.size()));
}

std::optional<size_t> Contracts::newest(std::string_view device) const {
  std::optional<size_t> newest;
  for (size_t i = 0; i < runtimes_.size(); ++i) {
    if (runtimes_[i].device != device) continue;
    if (!newest || number_of(runtimes_[i].version) >= number_of(runtimes_[*newest].version))
      newest = i;
  }
  return newest;
}

std::string Contracts::first_accepting(std::string_view device, std::string_view version,
                                       const OpCall& call) const {
  std::map<std::pair<int, int>, std::string> found;
  for (size_t i = 0; i < runtimes_.size(); ++i) {
    const Runtime& runtime = runtimes_[i];
    if (runtime.device != device || number_of(runtime.version) < number_of(version)) continue;
    if (ask(i, call).verdict == Verdict::kAccepts)
      found.emplace(number_of(runtime.version), minor_of(runtime.version));
  }
  return found.empty() ? "" : found.begin()->second;
}

std::vector<MissingKernel> Contracts::missing_kernel(std::string_view device,
                                                     std::string_view kernel, Dtype dtype) const {
  std::map<std::string, std::map<std::pair<int, int>, bool>> refused;  // by op and version
  const auto newest = this->newest(device);
  for (size_t i = 0; i < runtimes_.size(); ++i) {
    if (runtimes_[i].device != device) continue;
    const auto [table, column] = places_[i];
    for (const auto& [op, refuses] : calls_of_kernel(*tables_[table], column, kernel, dtype))
      refused[op][number_of(runtimes_[i].version)] = refuses;
  }
  std::vector<MissingKernel> missing;
  for (const auto& [op, versions] : refused) {
    if (!versions.contains(number_of(runtimes_[*newest].version))) continue;  // it is gone
    auto first = versions.end();  // of the newest versions, those that take the op
    while (first != versions.begin() && !std::prev(first)->second) --first;
    missing.push_back({op, first == versions.end()
                               ? ""
                               : fmt::format("{}.{}", first->first.first, first->first.second)});
  }
  return missing;
}

}  // namespace dtypecheck::contracts
