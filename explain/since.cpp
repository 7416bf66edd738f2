#include "explain/since.h"

#include <fmt/format.h>

#include <algorithm>

#include "platform/error.h"
#include "platform/libtorch_version.h"
#include "platform/text.h"
#include "rules/contracts/contracts.h"

namespace dtypecheck::explain {

using contracts::Contracts;
using contracts::Runtime;

// "self", "self=Float", "tensors[]" for a list, "other()" for a tensor without dimensions.
static Operand operand_of(std::string_view text, Dtype dtype, const std::string& device) {
  Operand operand{.dtypes = dtype, .device = {device}, .has_shape = false};
  const size_t equals = std::min(text.find('='), text.size());
  if (equals < text.size()) operand.dtypes = *parse_dtype(text.substr(equals + 1));
  std::string_view name = text.substr(0, equals);
  if (name.ends_with("()")) {
    name.remove_suffix(2);
    operand.has_shape = true;
  }
  operand.name =
      name.ends_with("[]") ? fmt::format("{}[0]", name.substr(0, name.size() - 2)) : name;
  return operand;
}

OpCall OpPattern::call_in(Dtype dtype, const std::string& device) const {
  OpCall call{.op = op};
  for (const std::string& operand : operands)
    call.operands.push_back(operand_of(operand, dtype, device));
  return call;
}

OpPattern parse_op_pattern(std::string_view text) {
  const std::string_view whole = text;
  OpPattern pattern{std::string(next_piece(text, ' ')), {}};
  while (!text.empty()) {
    const std::string_view operand = next_piece(text, ',');
    const size_t equals = operand.find('=');
    if (equals != std::string_view::npos && !parse_dtype(operand.substr(equals + 1)))
      throw InputError(fmt::format("'{}' names no dtype in '{}'", whole, operand));
    pattern.operands.emplace_back(operand);
  }
  if (pattern.op.find("::") == std::string::npos || pattern.operands.empty())
    throw InputError(fmt::format("'{}' is no op with operands", whole));
  return pattern;
}

static std::string minor_of(const Runtime& runtime) {
  const auto minor = parse_minor(runtime.version);
  return minor ? minor->minor_name() : runtime.version;
}

static std::string_view how_known(const Runtime& runtime) {
  return runtime.measured ? "measured" : "read in LibTorch's source";
}

Since since_when(const OpPattern& pattern, Dtype dtype) {
  const Contracts& contracts = Contracts::shipped();
  const OpCall call = pattern.call_in(dtype, "cpu");
  const auto newest = contracts.newest("cpu");
  if (!newest) return {};
  const std::string first = contracts.first_accepting("cpu", "0", call);
  if (!first.empty()) {
    const Runtime& runtime = contracts.runtimes()[*contracts.find("cpu", first)];
    return {first, fmt::format("{} on the CPU since {} ({})", dtype_name(dtype), first,
                               how_known(runtime))};
  }
  if (contracts.ask(*newest, call).acceptance != contracts::Acceptance::kRejects) return {};
  const Runtime& runtime = contracts.runtimes()[*newest];
  return {"", fmt::format("{} still missing on the CPU in {} ({})", dtype_name(dtype),
                          minor_of(runtime), how_known(runtime))};
}

static std::string first_autocast(std::string_view device, Dtype dtype) {
  for (const Runtime& runtime : Contracts::shipped().runtimes()) {
    if (runtime.device == device && runtime.has_mode("autocast:" + dtype_name(dtype)))
      return minor_of(runtime);
  }
  return "";
}

// "cpu Half aten::mm self,mat2", "cpu autocast Half".
static std::string date_of(std::string_view question) {
  const std::string_view whole = question;
  const std::string device(next_piece(question, ' '));
  std::string_view word = next_piece(question, ' ');
  const bool is_autocast = word == "autocast";
  if (is_autocast) word = next_piece(question, ' ');
  const auto dtype = parse_dtype(word);
  if (!dtype) throw InputError(fmt::format("{{since {}}}: '{}' is no dtype", whole, word));
  const std::string date =
      is_autocast ? first_autocast(device, *dtype)
                  : Contracts::shipped().first_accepting(
                        device, "0", parse_op_pattern(question).call_in(*dtype, device));
  if (date.empty()) throw InputError(fmt::format("{{since {}}}: not in the contracts", whole));
  return date;
}

std::string with_dates(std::string text) {
  constexpr std::string_view kMark = "{since ";
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    const size_t end = std::min(text.find('}', at), text.size());
    const size_t begin = at + kMark.size();
    const std::string date = date_of(std::string_view(text).substr(begin, end - begin));
    text.replace(at, end + 1 - at, date);
  }
  return text;
}

}  // namespace dtypecheck::explain
