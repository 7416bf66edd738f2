// suppressions.cpp: findings that a project has accepted, each with a reason beside it.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/text.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {
namespace {

bool is_end_of_path(std::string_view path, std::string_view end) {
  if (!path.ends_with(end)) return false;
  return path.size() == end.size() || path[path.size() - end.size() - 1] == '/';
}

bool matches_line(const SourceLine& line, const Suppression& accepted) {
  return is_end_of_path(line.file, accepted.file) &&
         (accepted.line == 0 || accepted.line == line.line);
}

bool accepts(const Suppression& accepted, const Finding& finding) {
  if (accepted.rule != finding.rule) return false;
  if (!accepted.module_glob.empty()) return matches_glob(finding.site.module, accepted.module_glob);
  if (accepted.file.empty()) return true;
  return matches_line(finding.site.line, accepted) || matches_line(finding.site.inner, accepted);
}

std::string rule_ids() {
  std::string ids;
  for (const Rule* rule : all_rules()) ids += (ids.empty() ? "" : ", ") + std::string(rule->doc.id);
  return ids;
}

void read_place(std::string_view place, Suppression& accepted) {
  constexpr std::string_view kModule = "module=";
  if (place.starts_with(kModule)) {
    accepted.module_glob = place.substr(kModule.size());
    return;
  }
  accepted.file = place;
  const size_t colon = place.rfind(':');
  const auto line = colon == place.npos ? std::nullopt : whole_number<int>(place.substr(colon + 1));
  if (line.value_or(0) <= 0) return;
  accepted.file = place.substr(0, colon);
  accepted.line = *line;
}

Suppression read_line(std::string_view text, const std::string& where) {
  const size_t hash = text.find('#');
  const std::string_view reason = hash == text.npos ? "" : trimmed(text.substr(hash + 1));
  const std::string_view entry = trimmed(text.substr(0, hash));
  if (reason.empty()) {
    throw InputError(
        fmt::format("{}: expected \"RULE [PLACE]  # reason\", got \"{}\" with no reason; "
                    "say after a # why it is accepted",
                    where, entry));
  }
  const size_t space = std::min(entry.find_first_of(" \t"), entry.size());
  Suppression accepted;
  accepted.rule = entry.substr(0, space);
  accepted.reason = reason;
  if (find_rule(accepted.rule) == nullptr) {
    throw InputError(fmt::format("{}: expected a rule, got \"{}\"; the rules are {}", where,
                                 accepted.rule, rule_ids()));
  }
  const std::string_view place = trimmed(entry.substr(space));
  if (place == "module=") {
    throw InputError(
        fmt::format("{}: expected a pattern after module=, got nothing; module=* is "
                    "every module",
                    where));
  }
  read_place(place, accepted);
  return accepted;
}

}  // namespace

std::vector<Suppression> parse_suppressions(std::string_view text, const std::string& name) {
  std::vector<Suppression> all;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = trimmed(next_piece(text, '\n'));
    if (line.empty() || line.front() == '#') continue;
    all.push_back(read_line(line, fmt::format("{}:{}", name, number)));
    all.back().text_line = number;
  }
  return all;
}

std::vector<Suppression> read_suppressions(const std::string& path) {
  return parse_suppressions(read_given_file(path, "give a file of suppressions"), path);
}

// A cause that is no longer shown is no longer named.
size_t drop_findings(std::vector<Finding>& findings,
                     const std::function<bool(const Finding&)>& is_accepted) {
  const size_t dropped = std::erase_if(findings, is_accepted);
  std::unordered_set<std::string> shown;
  for (const Finding& finding : findings) shown.insert(finding.id);
  for (Finding& finding : findings) {
    if (!shown.contains(finding.follows)) finding.follows.clear();
  }
  return dropped;
}

size_t suppress(std::vector<Finding>& findings, const std::vector<Suppression>& suppressions,
                std::vector<Suppression>* unused) {
  std::vector<bool> used(suppressions.size(), false);
  const auto is_accepted = [&](const Finding& finding) {
    bool accepted = false;
    for (size_t i = 0; i < suppressions.size(); ++i) {
      if (!accepts(suppressions[i], finding)) continue;
      used[i] = accepted = true;
    }
    return accepted;
  };
  const size_t dropped = drop_findings(findings, is_accepted);
  for (size_t i = 0; unused != nullptr && i < suppressions.size(); ++i) {
    if (!used[i]) unused->push_back(suppressions[i]);
  }
  return dropped;
}

}  // namespace dtypecheck::rules
