// Since when a kernel is there: the refusals of the older versions quote its name.
#include <algorithm>
#include <cctype>
#include <set>

#include "rules/contracts/table.h"

namespace dtypecheck::contracts {
namespace {

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

// "LayerNormKernelImpl" of `"LayerNormKernelImpl" not implemented for '{S0}'`.
std::string_view kernel_in(std::string_view message) {
  const size_t end = message.find("\" not implemented for '");
  if (end == message.npos || message.front() != '"') return "";
  return message.substr(1, end - 1);
}

std::set<std::string> refusals_naming(const Table& table, std::string_view kernel) {
  std::set<std::string> outcomes;
  if (kernel.empty()) return outcomes;
  for (const auto& [number, message] : table.messages) {
    if (equal_but_for_case(kernel_in(message.text), kernel))
      outcomes.insert("m" + std::to_string(number));
  }
  return outcomes;
}

// The outcome for operands that are all of one dtype.
std::string outcome_for(const Op& op, const Row& row, char letter) {
  for (size_t count = 1; count <= op.operands.size(); ++count) {
    const std::string combination(count, letter);
    if (is_combination(op.operands, combination))
      return outcome_in(op.operands, row.pattern, combination);
  }
  return "";
}

bool is_ever(const Op& op, std::string_view mode, char letter,
             const std::set<std::string>& outcomes) {
  return std::any_of(op.rows.begin(), op.rows.end(), [&](const Row& row) {
    return row.mode == mode && outcomes.contains(outcome_for(op, row, letter));
  });
}

// A mode without a row of its own is as the plain one.
std::string outcome_at(const Table& table, const Op& op, std::string_view mode, size_t column,
                       char letter) {
  const Row* plain = table.row(op, "plain", column);
  const Row* own = plain == nullptr ? nullptr : table.row(op, mode, column);
  if (plain == nullptr) return "";
  return outcome_for(op, own == nullptr ? *plain : *own, letter);
}

std::string without_overload(std::string_view op) {
  return std::string(op.substr(0, op.find('.', op.find("::"))));
}

}  // namespace

std::map<std::string, bool> calls_of_kernel(const Table& table, size_t column,
                                            std::string_view kernel, Dtype dtype) {
  const char letter = operand_letter(dtype);
  const std::set<std::string> outcomes = refusals_naming(table, kernel);
  std::map<std::string, bool> calls;
  if (letter == '\0' || outcomes.empty()) return calls;
  constexpr std::string_view kModes[] = {"plain", "grad", "backward"};
  // By name, since versions were measured with other operands.
  std::set<std::pair<std::string_view, std::string_view>> ever;
  for (const Op& op : table.ops) {
    for (const std::string_view mode : kModes) {
      if (is_ever(op, mode, letter, outcomes)) ever.emplace(op.name, mode);
    }
  }
  for (const Op& op : table.ops) {
    for (const std::string_view mode : kModes) {
      if (!ever.contains({op.name, mode})) continue;
      const std::string outcome = outcome_at(table, op, mode, column, letter);
      if (outcome.empty() || outcome == "?") continue;
      calls[without_overload(op.name)] |= outcome.front() == 'm';
    }
  }
  return calls;
}

}  // namespace dtypecheck::contracts
