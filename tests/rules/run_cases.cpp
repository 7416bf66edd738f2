// rule_cases: judges one trace text and compares with the expectations that stand in it.
//   rule_cases example RULE     the example in the rule's own file
//   rule_cases case FILE        a .trace file
//   rule_cases known-bug FILE   the same, and it must fail: when it passes, it belongs to its rule
// A line "# TARGET DEVICE:VERSION" in it judges as --target does; lines "# LINE FILE:LINE: TEXT"
// are the program's source. A finding that nobody expects fails as surely as an expectation that
// nothing meets, whichever rule it is of. A case that expects nothing must say in its first line
// why the rules stay silent.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/text.h"
#include "rules/engine/rule.h"
#include "rules/engine/run_index.h"
#include "rules/engine/target.h"
#include "trace/text.h"

namespace dtypecheck::rules {
namespace {

std::string place_of(const Finding& finding) {
  const SourceLine& line = finding.site.line;
  return line.known() ? fmt::format("{}:{}", line.file, line.line) : "?:0";
}

std::string as_expectation(const Finding& finding) {
  return fmt::format("# EXPECT {}: {}: {} [{}]", place_of(finding), severity_name(finding.severity),
                     finding.message, finding.rule);
}

bool is_met(const Expectation& expected, const Finding& finding) {
  return finding.rule == expected.rule &&
         place_of(finding) == fmt::format("{}:{}", expected.file, expected.line) &&
         severity_name(finding.severity) == expected.severity &&
         finding.message.find(expected.message) != std::string::npos;
}

// What the finding lacks of what was asked for; "" when nothing.
std::string details_missed(const Expectation& expected, const Finding& finding) {
  if (finding.fix.find(expected.fix) == std::string::npos) {
    return fmt::format("expected the fix to have \"{}\", got \"{}\"", expected.fix, finding.fix);
  }
  for (const std::string& cure : expected.cures) {
    const auto has = [&](const Cure& one) { return one.text.find(cure) != std::string::npos; };
    if (std::any_of(finding.cures.begin(), finding.cures.end(), has)) continue;
    std::string all;
    for (const Cure& one : finding.cures) all += "\n  " + one.text;
    return fmt::format("expected a cure to have \"{}\", got{}", cure, all);
  }
  if (finding.why.find(expected.why) == std::string::npos) {
    return fmt::format("expected the reason to have \"{}\", got \"{}\"", expected.why, finding.why);
  }
  if (!expected.odd_operand.empty() && finding.odd_operand != expected.odd_operand) {
    return fmt::format("expected the odd operand {}, got {}", expected.odd_operand,
                       finding.odd_operand);
  }
  return finding.why.empty() ? "expected a reason, got none" : "";
}

// A line "# TARGET cuda:2.11" judges the case as --target does.
std::optional<TargetAnswers> target_answers_of(const RunIndex& index, const std::string& source) {
  const std::string key = "# TARGET ";
  const size_t at = source.find(key);
  if (at == source.npos) return std::nullopt;
  const size_t begin = at + key.size();
  const auto target = contracts::parse_target(
      std::string_view(source).substr(begin, source.find('\n', begin) - begin));
  const contracts::Contracts& shipped = contracts::Contracts::shipped();
  return target_answers(index, shipped, shipped.find_target(target));
}

// Lines "# LINE train.py:40: loss = F.mse_loss(a, b)": the program's source.
LineText lines_in(const std::string& source) {
  auto lines = std::make_shared<std::map<std::string, std::string>>();
  std::string_view rest = source;
  while (!rest.empty()) {
    std::string_view line = next_piece(rest, '\n');
    constexpr std::string_view kKey = "# LINE ";
    const size_t end = line.find(": ");
    if (!line.starts_with(kKey) || end == line.npos) continue;
    lines->emplace(line.substr(kKey.size(), end - kKey.size()), line.substr(end + 2));
  }
  return [lines](const std::string& file, int line) {
    const auto found = lines->find(fmt::format("{}:{}", file, line));
    return found == lines->end() ? "" : found->second;
  };
}

int compare(const TraceText& text, const std::string& source, const std::string& name) {
  const RunIndex index(text.run);
  const auto target = target_answers_of(index, source);
  std::vector<Finding> findings =
      judge(index, {.target = target ? &*target : nullptr, .line_text = lines_in(source)});
  int failures = 0;
  const auto fail = [&](int line, const std::string& what) {
    fmt::print("{}:{}: {}\n", name, line, what);
    ++failures;
  };
  for (const Expectation& expected : text.expectations) {
    const auto met = std::find_if(findings.begin(), findings.end(),
                                  [&](const Finding& f) { return is_met(expected, f); });
    if (met == findings.end()) {
      fail(expected.text_line,
           fmt::format("expected {}: {} [{}] at {}:{}, and nothing of the kind was found",
                       expected.severity, expected.message, expected.rule, expected.file,
                       expected.line));
      continue;
    }
    const std::string missed = details_missed(expected, *met);
    if (!missed.empty()) fail(expected.text_line, missed);
    findings.erase(met);
  }
  for (const Finding& finding : findings) {
    fail(static_cast<int>(finding.call),
         fmt::format("found and not expected: {}\n  why {}\n  fix {}", as_expectation(finding),
                     finding.why, finding.fix));
  }
  return failures;
}

int run(const std::string& kind, const std::string& subject) {
  if (kind == "example") {
    const Rule* rule = find_rule(subject);
    if (rule == nullptr) throw InputError(subject + ": expected the id of a rule in rule_list.inc");
    const TraceText text = parse_trace_text(rule->doc.example, subject);
    if (text.expectations.empty()) throw InputError(subject + ": expected an example that fires");
    return compare(text, rule->doc.example, subject);
  }
  const std::string source = read_given_file(subject, "give a .trace file");
  const TraceText text = parse_trace_text(source, subject);
  if (text.expectations.empty() && !source.starts_with("# ")) {
    throw InputError(subject + ": expected a first line that says why the rules are silent here");
  }
  return compare(text, source, subject);
}

int run_known_bug(const std::string& subject) {
  if (run("case", subject) != 0) return 0;
  fmt::print("{}: passes now; move it to its rule's folder in tests/rules\n", subject);
  return 1;
}

}  // namespace
}  // namespace dtypecheck::rules

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 2 || (words[0] != "rule" && (words[0] != "known-bug" || words.size() != 2))) {
    fmt::print(stderr, "usage: rule_cases rule RULE FILE... | known-bug FILE\n");
    return 2;
  }
  try {
    using dtypecheck::rules::run;
    if (words[0] == "known-bug") return dtypecheck::rules::run_known_bug(words[1]) == 0 ? 0 : 1;
    int failures = run("example", words[1]);
    for (size_t i = 2; i < words.size(); ++i) failures += run("case", words[i]);
    return failures == 0 ? 0 : 1;
  } catch (const dtypecheck::InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
