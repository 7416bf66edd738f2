#include "rules/contracts/contracts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "ops/arguments.h"
#include "ops/ops.h"
#include "platform/error.h"
#include "platform/libtorch_version.h"
#include "platform/text.h"
#include "rules/contracts/table.h"

namespace dtypecheck::contracts {
namespace {

// One argument: a tensor, or the elements of a list.
struct Argument {
  std::string name;         // of the schema; "tensors[]"
  bool is_scalar = false;   // without dimensions
  bool is_integer = false;  // or bool: of such, older tables say nothing
  std::string letters;      // of a list each letter once, in the order of its elements
};

// Nothing where an operand is of a kind or dtype that the tables do not speak of.
std::optional<std::vector<Argument>> arguments_of(const OpCall& call) {
  std::vector<Argument> arguments;
  for (const Operand& operand : call.operands) {
    if (operand.kind == TensorKind::kUndefined || operand.is_wrapped_number) continue;
    const std::optional<Dtype> dtype = operand.dtypes.single();
    if (operand.kind != TensorKind::kDense || !dtype) return std::nullopt;
    const char letter = operand_letter(*dtype);
    const std::string_view list = ops::list_name(operand.name);
    const bool is_list = list.size() != operand.name.size();
    const std::string name =
        std::string(ops::schema_argument(call.op, list)) + (is_list ? "[]" : "");
    if (!is_list || arguments.empty() || arguments.back().name != name) {
      const bool is_integer = (kIntegral | Dtype::kBool).contains(*dtype);
      arguments.push_back({name, operand.has_shape && operand.shape.empty(), is_integer, ""});
    }
    std::string& letters = arguments.back().letters;
    if (letter == '\0')
      letters += 'x';
    else if (letters.find(letter) == letters.npos)
      letters += letter;
  }
  return arguments;
}

// An op call, in the words of the tables.
struct Question {
  std::string op;  // "aten::add.Tensor"
  std::vector<Argument> arguments;
  bool wants_grad = false;
};

std::optional<Question> question_of(const OpCall& call) {
  auto arguments = arguments_of(call);
  if (!arguments || arguments->empty()) return std::nullopt;
  // With a dtype among the arguments, the result has that one, whatever was measured without.
  if (std::ranges::any_of(call.scalars,
                          [](const ScalarArgument& scalar) { return scalar.dtype.has_value(); }))
    return std::nullopt;
  Question question{.op = ops::without_alias(call.op), .arguments = std::move(*arguments)};
  if (!call.overload.empty()) question.op += "." + call.overload;
  question.wants_grad = std::ranges::any_of(
      call.operands, [](const Operand& operand) { return operand.requires_grad; });
  return question;
}

// An op of a table that a question may be about, and the question's dtypes in the order of its
// operands.
struct AskedOp {
  const Op* op;
  std::string combination;  // "fh"
  std::string fixed;        // "l"
  bool is_alike = true;     // operands without dimensions are the same ones
  bool is_whole = true;     // the question says something of each fixed argument

  bool is_uniform() const {
    return combination.find_first_not_of(combination[0]) == combination.npos;
  }
};

std::string_view without_mark(std::string_view name) {
  return name.ends_with("()") ? name.substr(0, name.size() - 2) : name;
}

// The place of "index" in "mask:o,index:l"; npos for none.
size_t place_in(std::string_view fixed, std::string_view name) {
  for (size_t place = 0; !fixed.empty(); ++place) {
    const std::string_view one = next_piece(fixed, ',');
    if (one.substr(0, one.find(':')) == name) return place;
  }
  return fixed.npos;
}

// Each argument is an operand, in their order, or a fixed one. Of those nothing may be said: source
// and patterns of people leave them out.
std::optional<AskedOp> candidate(const Op& op, const Question& question, bool knows_integers) {
  AskedOp found{&op, "", fixed_letters(op)};
  std::string_view operands = op.operands;
  size_t unsaid = found.fixed.size();
  const bool is_lone = operands.find(',') == operands.npos;
  for (const Argument& argument : question.arguments) {
    std::string_view rest = operands;
    const std::string_view name = next_piece(rest, ',');
    if (without_mark(name) == argument.name) {
      const bool is_list = name.ends_with(']');
      if (argument.letters.size() > (is_list && is_lone ? 2 : 1)) return std::nullopt;
      found.combination += argument.letters;
      found.is_alike &= is_list || name.ends_with("()") == argument.is_scalar;
      operands = rest;
    } else if (const size_t at = place_in(op.fixed, argument.name); at != op.fixed.npos) {
      found.fixed[at] = argument.letters.size() == 1 ? argument.letters[0] : 'x';
      --unsaid;
    } else if (knows_integers || !argument.is_integer) {
      return std::nullopt;
    }
  }
  if (!operands.empty() || found.combination.empty()) return std::nullopt;
  found.is_whole = unsaid == 0;
  return found;
}

// The rows of the table that the question may be about. A trace in text form and C++ source leave
// the overload out: where several fit, they have to agree. Of one dtype, which tensors promote is
// all the same; and a row that had the call's own integers says more than one that had others.
std::vector<AskedOp> candidates_of(const Table& table, size_t column, const Question& question) {
  std::vector<AskedOp> found;
  for (const Op* op : table.ops_named(question.op)) {
    if (table.row(*op, "plain", column) == nullptr) continue;  // this runtime does not have it
    const auto one = candidate(*op, question, table.runtimes[column].knows_integers());
    if (one && (one->is_alike || one->is_uniform())) found.push_back(*one);
  }
  const auto keep = [&](auto is_better) {
    if (std::ranges::any_of(found, is_better))
      std::erase_if(found, [&](const AskedOp& one) { return !is_better(one); });
  };
  keep([](const AskedOp& one) { return one.is_whole; });
  keep([](const AskedOp& one) { return one.is_alike; });
  keep([](const AskedOp& one) { return one.fixed == fixed_letters(*one.op); });
  keep([&](const AskedOp& one) { return one.op->name == question.op; });
  return found;
}

// GCC's name for the type of its elements, which LibTorch quotes.
std::string type_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kLong:
      return "long int";
    case Dtype::kShort:
      return "short int";
    case Dtype::kChar:
      return "signed char";
    case Dtype::kByte:
      return "unsigned char";
    case Dtype::kInt:
      return "int";
    case Dtype::kComplexHalf:
      return "c10::complex<c10::Half>";
    case Dtype::kComplexFloat:
    case Dtype::kComplexDouble:
      return "c10::" + cpp_type(dtype);
    default:
      return cpp_type(dtype);
  }
}

// How LibTorch spells a dtype in messages, by the letter of the placeholder.
std::string spelled(char style, char letter) {
  const Dtype dtype = dtype_of(letter);
  switch (style) {
    case 'T':
      return type_name(dtype);
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

// `operands` is empty for a row of fixed arguments: nothing in it promotes.
Answer answer_of(const Table& table, size_t column, std::string_view operands, const Row& row,
                 const std::string& combination, char autocast) {
  const std::string outcome = outcome_in(operands, row.pattern, combination);
  if (outcome.empty() || outcome == "?") return {};
  if (outcome.front() != 'm') {
    Answer answer{.acceptance = Acceptance::kAccepts};
    for (const char letter : outcome) {
      if (letter != '.' && letter != '-') answer.results.push_back(dtype_of(letter));
    }
    return answer;
  }
  uint32_t number = 0;
  std::from_chars(outcome.data() + 1, outcome.data() + outcome.size(), number);
  const Message& message = table.messages.at(number);  // the reader has seen that it is there
  return {.acceptance = Acceptance::kRejects,
          .message = filled(message.text, combination, autocast),
          .error_type = message.type_in(column)};
}

// The row, and the dtype of the autocast region that it is of. Autocast and wanted gradients have
// rows of their own only where they change the answer.
std::pair<const Row*, char> row_of(const Table& table, const Op& op, size_t column, bool wants_grad,
                                   const OpCall& call, Mode mode) {
  const Row* const plain = table.row(op, "plain", column);
  if (mode == Mode::kBackward) return {table.row(op, "backward", column), '\0'};
  if (mode == Mode::kAutocast) {
    const AutocastState::Region* region = call.autocast.region_for(call.device_type());
    if (region == nullptr) return {nullptr, '\0'};
    const Runtime& runtime = table.runtimes[column];
    const std::string name = "autocast:" + dtype_name(region->dtype);
    const bool is_measured = runtime.has_mode(name);
    // The CPU's autocast turns itself off, with a warning, for a dtype that it does not do.
    if (!is_measured && runtime.device != "cpu") return {nullptr, '\0'};
    const Row* own = is_measured ? table.row(op, name, column) : nullptr;
    if (own != nullptr) return {own, operand_letter(region->dtype)};
    return {plain, '\0'};
  }
  const Row* own = wants_grad ? table.row(op, "grad", column) : nullptr;
  return {own != nullptr ? own : plain, '\0'};
}

// Beside integers of other dtypes than the op was called with: measured with Float, Half and
// BFloat16, and what all three say holds for the others too.
Answer answer_of_fixed(const Table& table, const AskedOp& asked, size_t column,
                       const Answer& as_called) {
  const Row* row = table.row(*asked.op, "index", column);
  if (row == nullptr || as_called.acceptance != Acceptance::kAccepts) return {};
  const auto with = [&](char base) { return base + asked.fixed; };
  const std::string own = with(asked.combination[0]);
  const std::string_view measured = "fhb";
  if (asked.is_uniform() && measured.find(own[0]) != measured.npos)
    return answer_of(table, column, "", *row, own, '\0');
  const std::string_view word = word_in(row->pattern, with('f'));
  for (const char base : measured) {
    if (word_in(row->pattern, with(base)) != word) return {};
  }
  const Answer in_float = answer_of(table, column, "", *row, with('f'), '\0');
  return in_float.acceptance == Acceptance::kAccepts ? as_called : in_float;
}

bool differs_in_one(std::string_view a, std::string_view b) {
  size_t differences = 0;
  for (size_t i = 0; i < a.size(); ++i) differences += a[i] != b[i];
  return differences == 1;
}

// What one op of the table answers, which this runtime has.
Answer answer_of(const Table& table, const AskedOp& asked, size_t column, bool wants_grad,
                 const OpCall& call, Mode mode) {
  const std::string& letters = table.runtimes[column].dtypes;
  const auto is_measured = [&](std::string_view combination) {
    return combination.find_first_not_of(letters) == combination.npos;
  };
  const auto [row, autocast] = row_of(table, *asked.op, column, wants_grad, call, mode);
  if (row == nullptr || !is_measured(asked.combination) ||
      !is_combination(asked.op->operands, asked.combination, row->mode))
    return {};
  const Answer answer =
      answer_of(table, column, asked.op->operands, *row, asked.combination, autocast);
  const std::string called_with = fixed_letters(*asked.op);
  if (asked.fixed == called_with) return answer;
  if (!is_measured(asked.fixed) || !differs_in_one(asked.fixed, called_with)) return {};
  return answer_of_fixed(table, asked, column, answer);
}

}  // namespace

std::string Runtime::to_string() const { return device + ":" + version; }

bool Runtime::has_mode(std::string_view mode) const {
  for (std::string_view rest = modes; !rest.empty();) {
    if (next_piece(rest, ',') == mode) return true;
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
  const auto minor = parse_minor(version);
  for (size_t i = runtimes_.size(); i-- > 0 && minor;) {
    const Runtime& runtime = runtimes_[i];
    if (runtime.device == device && parse_minor(runtime.version) == minor) return i;
  }
  return std::nullopt;
}

size_t Contracts::find_target(const Target& target) const {
  if (const auto found = find(target.device, target.version)) return *found;
  throw InputError(
      fmt::format("--target {}:{}: there are no contracts for it; there are for {}; dtypecheck "
                  "probe measures others, and --contracts FILE reads them",
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
  for (const AskedOp& one : candidates_of(table, column, *question)) {
    const Answer answer = answer_of(table, one, column, question->wants_grad, call, mode);
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
    if (!newest || parse_minor(runtimes_[i].version) >= parse_minor(runtimes_[*newest].version))
      newest = i;
  }
  return newest;
}

std::string Contracts::first_accepting(std::string_view device, std::string_view version,
                                       const OpCall& call) const {
  const auto from = parse_minor(version);
  std::optional<Version> first;
  for (size_t i = 0; i < runtimes_.size(); ++i) {
    const auto minor = parse_minor(runtimes_[i].version);
    if (runtimes_[i].device != device || minor < from || (first && minor >= first)) continue;
    if (ask(i, call).acceptance == Acceptance::kAccepts) first = minor;
  }
  return first ? first->minor_name() : "";
}

}  // namespace dtypecheck::contracts
