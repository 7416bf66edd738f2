#include "analyzer/op_fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <regex>
#include <sstream>

#include "platform/files.h"
#include "platform/text.h"

namespace dtypecheck::analyzer {

namespace {

std::string line_of(const Place& place) {
  std::istringstream lines(read_file_if_any(place.file).value_or(""));
  std::string line;
  for (int number = 0; number < place.line; ++number) {
    if (!std::getline(lines, line)) return "";
  }
  return line;
}

// What of the line is this text from `at` on, blanks left out; 0: it is another one.
size_t length_at(const std::string& line, size_t at, const std::string& text) {
  size_t end = at;
  for (const char c : text) {
    while (end > at && end < line.size() && line[end] == ' ') ++end;
    if (end >= line.size() || line[end++] != c) return 0;
  }
  return end - at;
}

// The one argument of the line that has this text.
struct Argument {
  size_t at;  // from 0
  std::string text;
};
std::optional<Argument> argument_in(const std::string& line, const std::string& text) {
  std::optional<Argument> found;
  for (size_t at = 1; at < line.size(); ++at) {
    const size_t length = length_at(line, at, text);
    const size_t before = line.find_last_not_of(' ', at - 1);
    const size_t behind = line.find_first_not_of(' ', at + length);
    const bool begins = before != line.npos && (line[before] == '(' || line[before] == ',');
    const bool ends = behind != line.npos && (line[behind] == ')' || line[behind] == ',');
    if (length == 0 || !begins || !ends) continue;
    if (found) return std::nullopt;
    found = {at, line.substr(at, length)};
  }
  return found;
}

// torch::kInt, where the text ends in it, in an argument of its last call.
struct Token {
  size_t at;
  std::string scope, name;  // "torch::k", "Int"
};
std::optional<Token> dtype_at_end(const std::string& text, DtypeSet dtypes) {
  static const std::regex kToken(R"(\b((?:torch::|at::|c10::)?k)(\w+)\)+$)");
  std::smatch match;
  if (!std::regex_search(text, match, kToken)) return std::nullopt;
  const auto named = parse_dtype(match[2].str());
  if (!named || dtypes != DtypeSet(*named)) return std::nullopt;
  return Token{static_cast<size_t>(match.position(1)), match[1], match[2]};
}

// What a method may be called on as it stands: x, f(x).y, *p and a + b may not.
bool is_postfix(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    depth += c == '(' || c == '[' || c == '{';
    depth -= c == ')' || c == ']' || c == '}';
    const bool is_arrow = c == '-' && i + 1 < text.size() && text[i + 1] == '>';
    i += is_arrow;
    const bool is_part =
        is_arrow || is_of_name(c) || std::string_view(".:()[]{}").find(c) != std::string_view::npos;
    if (depth == 0 && !is_part) return false;
  }
  return !text.empty() && text.front() != '{';
}

// What has the dtype that is wanted: of a layer or of all parameters of a module, or another
// operand that has a name. Indices are Long, whatever else is.
std::string asked_of(const SourceOp& op, const SourceOperand& cast, Dtype dtype) {
  static const std::regex kWeight(R"([\w.>-]+->(?:weight|parameters\(\)\[0\]))");
  static const std::regex kName(R"([A-Za-z_]\w*(?:(?:\.|->)[A-Za-z_]\w*)*)");
  for (const SourceOperand& operand : op.operands) {
    const bool is_weight = operand.name == "weight" && std::regex_match(operand.text, kWeight);
    const bool is_named = kFloating.contains(dtype) && std::regex_match(operand.text, kName);
    if (&operand != &cast && operand.dtypes == DtypeSet(dtype) && (is_weight || is_named))
      return operand.text + ".dtype()";
  }
  return "";
}

}  // namespace

void add_cast(Finding& finding, const SourceOp& op, bool is_in_reach) {
  if (finding.severity != Severity::kError || finding.cures.empty() || !finding.edits.empty())
    return;
  const Cure& cure = finding.cures.front();
  const auto operand =
      std::ranges::find_if(op.operands, [&](const auto& one) { return one.name == cure.operand; });
  if (cure.kind != CureKind::kCastOperand || cure.dtype == Dtype::kUndefined ||
      operand == op.operands.end() || operand->text.empty() || operand->text.ends_with("..."))
    return;
  const auto argument = argument_in(line_of(op.place), operand->text);
  if (!argument) return;
  const auto add = [&](size_t column, std::string old_text, std::string new_text) {
    finding.edits.push_back({op.place.file, op.place.line, static_cast<int>(column) + 1,
                             std::move(old_text), std::move(new_text)});
  };
  if (const auto token = dtype_at_end(argument->text, operand->dtypes))
    return add(argument->at + token->at, token->scope + token->name,
               token->scope + dtype_name(cure.dtype));
  std::string dtype = is_in_reach ? asked_of(op, *operand, cure.dtype) : "";
  if (dtype.empty()) dtype = "torch::k" + dtype_name(cure.dtype);
  const std::string whole =
      is_postfix(argument->text) ? argument->text : "(" + argument->text + ")";
  add(argument->at, argument->text, whole + ".to(" + dtype + ")");
}

void add_options(Finding& finding, const SourceOp& op) {
  if (finding.cures.empty()) return;
  const auto made =
      std::ranges::find_if(op.operands, [](const auto& one) { return one.options_at.line > 0; });
  if (made == op.operands.end()) return;
  const Place& at = made->options_at;
  const std::string text =
      fmt::format("give {} {}, {}:{}", made->maker, made->options, shown_path(at.file), at.line);
  DtypeSet met;
  for (const SourceOperand& operand : op.operands) met |= operand.dtypes & kFloating;
  const auto dtype = (met - made->dtypes).single();
  if (!dtype) return;
  finding.cures.insert(finding.cures.begin(), {.kind = CureKind::kCastResult,
                                               .dtype = *dtype,
                                               .call = finding.call,
                                               .where = {at.file, at.line, op.function},
                                               .text = text});
  finding.fix = text;
  finding.edits = {{at.file, at.line, at.column, "", ", " + made->options}};
}

}  // namespace dtypecheck::analyzer
