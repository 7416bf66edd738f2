#include "explain/template_match.h"

#include <algorithm>

#include "platform/text.h"

namespace dtypecheck::explain {

static constexpr size_t kMaxHole = 120;

static std::vector<std::string_view> literals_of(std::string_view pattern) {
  std::vector<std::string_view> literals;
  for (size_t hole = pattern.find("{}"); hole != std::string_view::npos;
       hole = pattern.find("{}")) {
    literals.push_back(pattern.substr(0, hole));
    pattern.remove_prefix(hole + 2);
  }
  literals.push_back(pattern);
  return literals;
}

// What names of dtypes and kernels consist of. Text in another script ends them.
static bool is_name(char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x80; }

// The end of a hole that closes the pattern: the dtype name ends at a blank, a comma, a bracket, or
// where text in another script goes on.
static size_t end_of_last_hole(std::string_view text, size_t begin) {
  while (begin < text.size() && text[begin] == ' ') ++begin;
  const size_t limit = std::min(text.size(), begin + kMaxHole);
  size_t end = begin;
  while (end < limit && is_name(text[end]) &&
         std::string_view(",;()[]\\<").find(text[end]) == std::string_view::npos) {
    ++end;
  }
  while (end > begin && std::string_view(".:!?").find(text[end - 1]) != std::string_view::npos)
    --end;
  return end;
}

static std::optional<TemplateMatch> match_at(std::string_view text, size_t begin,
                                             const std::vector<std::string_view>& literals) {
  TemplateMatch match{begin, begin + literals[0].size(), {}};
  for (size_t i = 1; i < literals.size(); ++i) {
    if (literals[i].empty()) {
      const size_t end = end_of_last_hole(text, match.end);
      match.holes.emplace_back(trimmed(text.substr(match.end, end - match.end)));
      match.end = end;
      continue;
    }
    const std::string_view rest = text.substr(match.end, kMaxHole + literals[i].size());
    const size_t at = rest.find(literals[i]);
    if (at == std::string_view::npos) return std::nullopt;
    // What begins anew inside a hole is the next message.
    if (rest.substr(0, at).find(literals[0]) != std::string_view::npos) return std::nullopt;
    match.holes.emplace_back(trimmed(rest.substr(0, at)));
    match.end += at + literals[i].size();
  }
  return match;
}

// A hole that opens the pattern takes the word before what follows it.
static std::optional<TemplateMatch> find_after_word(std::string_view text, std::string_view rest,
                                                    size_t from) {
  std::optional<TemplateMatch> match = find_template(text, rest, from);
  if (!match) return std::nullopt;
  size_t begin = match->begin;
  while (begin > 0 && is_name(text[begin - 1]) && text[begin - 1] != ':' && text[begin - 1] != '(')
    --begin;
  match->holes.insert(match->holes.begin(), std::string(text.substr(begin, match->begin - begin)));
  match->begin = begin;
  return match;
}

std::optional<TemplateMatch> find_template(std::string_view text, std::string_view pattern,
                                           size_t from) {
  if (pattern.starts_with("{}")) return find_after_word(text, pattern.substr(2), from);
  const std::vector<std::string_view> literals = literals_of(pattern);
  for (size_t at = text.find(literals[0], from); at != std::string_view::npos;
       at = text.find(literals[0], at + 1)) {
    if (auto match = match_at(text, at, literals)) return match;
  }
  return std::nullopt;
}

std::optional<TemplateMatch> find_template_around(std::string_view text, std::string_view pattern,
                                                  size_t at) {
  std::optional<TemplateMatch> match = find_template(text, pattern);
  while (match && match->end < at) match = find_template(text, pattern, match->end);
  if (match && match->begin >= at) match.reset();
  return match;
}

static std::string_view longest_without(std::string_view marks, std::string_view pattern) {
  std::string_view longest;
  size_t begin = 0;
  while (begin < pattern.size()) {
    const size_t end = std::min(pattern.find_first_of(marks, begin), pattern.size());
    if (end - begin > longest.size()) longest = pattern.substr(begin, end - begin);
    begin = end + 1;
  }
  return longest;
}

std::string_view anchor_of(std::string_view pattern) {
  const std::string_view narrow = longest_without("{}'\"`()[]:,", pattern);
  return narrow.size() < kShortestAnchor ? longest_without("{}'\"`", pattern) : narrow;
}

}  // namespace dtypecheck::explain
