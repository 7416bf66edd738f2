#include "analyzer/allowed.h"

#include <climits>

#include "platform/text.h"

namespace dtypecheck::analyzer {

static constexpr std::string_view kPrefix = "dtypecheck-";

Allowances::Allowances(std::string_view source, Reads reads) {
  int line = 0;
  while (!source.empty()) {
    const std::string_view text = next_piece(source, '\n');
    ++line;
    if (reads == Reads::kAll && text.find("NOLINT") != text.npos) read_nolint(text, line);
    if (text.find("dtypecheck: allow(") != text.npos) read_allow(text, line);
  }
}

// A comma-separated list of patterns over these lines.
void Allowances::add(std::string_view list, int first, int last) {
  while (!list.empty()) {
    const std::string_view pattern = trimmed(next_piece(list, ','));
    if (!pattern.empty() && pattern.size() < 100) {
      allowances_.push_back({std::string(pattern), first, last});
    }
  }
}

void Allowances::read_nolint(std::string_view text, int line) {
  text.remove_prefix(text.find("NOLINT") + 6);
  int first = line, last = line;
  if (text.starts_with("NEXTLINE")) {
    text.remove_prefix(8);
    first = last = line + 1;
  } else if (text.starts_with("BEGIN")) {
    text.remove_prefix(5);
    last = INT_MAX;
  } else if (text.starts_with("END")) {
    for (Allowance& allowance : allowances_) {
      if (allowance.last == INT_MAX) allowance.last = line;
    }
    return;
  }
  if (!text.starts_with('(')) return add("*", first, last);
  const size_t end = text.find(')');
  if (end != text.npos) add(text.substr(1, end - 1), first, last);
}

void Allowances::read_allow(std::string_view text, int line) {
  constexpr std::string_view kAllow = "dtypecheck: allow(";
  const size_t at = text.find(kAllow);
  const std::string_view before = trimmed(text.substr(0, at));
  const bool stands_alone = before == "//" || before == "#";
  text.remove_prefix(at + kAllow.size());
  const size_t end = text.find(')');
  if (end == text.npos) return;
  const std::string_view reason = trimmed(text.substr(end + 1));
  if (!reason.starts_with(':') || trimmed(reason.substr(1)).empty()) {
    without_reason_.push_back(line);
    return;
  }
  std::string list;
  std::string_view rules = text.substr(0, end);
  while (!rules.empty()) {  // these ids have no prefix
    const std::string id(trimmed(next_piece(rules, ',')));
    named_.emplace_back(line, id);
    list += std::string(kPrefix) + id + ",";
  }
  add(list, line, stands_alone ? line + 1 : line);
}

bool Allowances::allows(std::string_view rule, int line) const {
  const std::string id = std::string(kPrefix) + std::string(rule);
  for (const Allowance& allowance : allowances_) {
    const bool here = allowance.first <= line && line <= allowance.last;
    if (here && matches_glob(id, allowance.pattern)) return true;
  }
  return false;
}

}  // namespace dtypecheck::analyzer
