#include "analyzer/allowed.h"

#include <algorithm>
#include <climits>

namespace dtypecheck::analyzer {

static constexpr std::string_view kPrefix = "dtypecheck-";

static std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// `*` stands for any letters.
static bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern.front() == '*') {
    if (pattern.size() == 1) return true;
    for (size_t i = 0; i <= text.size(); ++i) {
      if (matches(pattern.substr(1), text.substr(i))) return true;
    }
    return false;
  }
  return !text.empty() && pattern.front() == text.front() &&
         matches(pattern.substr(1), text.substr(1));
}

Allowances::Allowances(std::string_view source) {
  int line = 0;
  while (!source.empty()) {
    const size_t end = std::min(source.find('\n'), source.size());
    const std::string_view text = source.substr(0, end);
    ++line;
    if (text.find("NOLINT") != text.npos) read_nolint(text, line);
    if (text.find("dtypecheck: allow(") != text.npos) read_allow(text, line);
    source.remove_prefix(std::min(end + 1, source.size()));
  }
}

// A comma-separated list of patterns over these lines.
void Allowances::add(std::string_view list, int first, int last) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const std::string_view pattern = trimmed(list.substr(0, end));
    if (!pattern.empty() && pattern.size() < 100) {
      allowances_.push_back({std::string(pattern), first, last});
    }
    list.remove_prefix(std::min(end + 1, list.size()));
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
  const bool stands_alone = trimmed(text.substr(0, at)) == "//";
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
    const size_t comma = std::min(rules.find(','), rules.size());
    list += std::string(kPrefix) + std::string(trimmed(rules.substr(0, comma))) + ",";
    rules.remove_prefix(std::min(comma + 1, rules.size()));
  }
  add(list, line, stands_alone ? line + 1 : line);
}

bool Allowances::allows(std::string_view rule, int line) const {
  const std::string id = std::string(kPrefix) + std::string(rule);
  for (const Allowance& allowance : allowances_) {
    const bool here = allowance.first <= line && line <= allowance.last;
    if (here && matches(allowance.pattern, id)) return true;
  }
  return false;
}

}  // namespace dtypecheck::analyzer
