#include "reports/judging/lint_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "analyzer/check.h"
#include "analyzer/fixes.h"
#include "platform/hash.h"
#include "platform/text.h"
#include "reports/judging/accepted.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

namespace {

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r'; });
  return text;
}

}  // namespace

std::vector<Finding> judge(const std::vector<analyzer::SourceFacts>& all) {
  using FindingKey = std::tuple<std::string, std::string, int, int>;
  const auto key_of = [](const Finding& finding) {
    const SourceLine& line = finding.site.line;
    return FindingKey(finding.rule, line.file, line.line, finding.column);
  };
  std::vector<std::vector<Finding>> judged;
  std::set<FindingKey> of_sources;  // what was found in a file as the one that was parsed
  for (const analyzer::SourceFacts& facts : all) {
    for (const Finding& finding : judged.emplace_back(analyzer::judge(facts))) {
      if (finding.site.line.file == facts.file) of_sources.insert(key_of(finding));
    }
  }
  std::vector<Finding> findings;
  std::set<std::pair<FindingKey, std::string>> known;
  for (size_t i = 0; i < all.size(); ++i) {
    for (Finding& finding : judged[i]) {
      // A header, and a source that others include, is judged once: they may instantiate its
      // templates for other dtypes.
      const bool is_included = finding.site.line.file != all[i].file;
      const FindingKey key = key_of(finding);
      if (is_included && of_sources.contains(key)) continue;
      if (known.emplace(key, is_included ? "" : finding.message).second) {
        findings.push_back(std::move(finding));
      }
    }
  }
  return findings;
}

// By what stands there, not by where: the rule, the file's name, the function, the line's text and
// which of those that are alike it is.
void give_ids(reports::Report& report, analyzer::SourceTexts& sources) {
  std::map<uint64_t, int> seen;
  std::map<std::string, std::string> given;  // by the rules' own
  for (Finding& finding : report.findings) {
    const SourceLine& line = finding.site.line;
    uint64_t id = fnv1a(finding.rule);
    for (const std::string& part :
         {fs::path(line.file).filename().string(), line.function,
          without_blanks(sources.line(line.file, line.line)), finding.message}) {
      id = fnv1a_next(part, id);
    }
    const std::string before = finding.id;
    finding.id = hash_text(fnv1a(std::to_string(seen[id]++), id));
    given[before] = finding.id;
  }
  for (Finding& finding : report.findings) {
    if (!finding.follows.empty()) finding.follows = given[finding.follows];
  }
}

void drop_allowed(reports::Report& report, analyzer::SourceTexts& sources, bool all) {
  std::set<std::string> files;
  for (const Finding& finding : report.findings) files.insert(finding.site.line.file);
  for (const std::string& file : files) {
    say_faulty(report, sources.allowances(file),
               [&](int line) { return fmt::format("{}:{}", file, line); });
  }
  if (all) return;
  const size_t dropped = std::erase_if(report.findings, [&](const Finding& finding) {
    const SourceLine& line = finding.site.line;
    return sources.allowances(line.file).allows(finding.rule, line.line);
  });
  say_accepted(report, dropped, "comments in the source");
  drop_accepted_by_config(report);
}

void indent_edits(reports::Report& report, analyzer::SourceTexts& sources) {
  for (Finding& finding : report.findings)
    for (SourceEdit& edit : finding.edits) analyzer::reindent(edit, sources.text(edit.file));
}

void fold_alike(reports::Report& report) {
  struct Fold {
    size_t kept;
    size_t others = 0;
    std::set<std::string> functions;
  };
  std::map<std::string, analyzer::Scope> scopes;
  for (const analyzer::Check* check : analyzer::all_checks()) scopes[check->doc.id] = check->scope;
  std::map<std::tuple<std::string, Severity, std::string, std::string>, Fold> folds;
  std::vector<Finding> kept;
  for (Finding& finding : report.findings) {
    const auto scope = scopes.find(finding.rule);
    if (scope == scopes.end() || scope->second == analyzer::Scope::kPlace) {
      kept.push_back(std::move(finding));
      continue;
    }
    const SourceLine& line = finding.site.line;
    const bool is_of_file = scope->second == analyzer::Scope::kFile;
    const auto [at, is_new] = folds.try_emplace(
        {finding.rule, finding.severity, line.file, is_of_file ? "" : line.function},
        Fold{.kept = kept.size()});
    at->second.functions.insert(line.function);
    if (is_new) {
      kept.push_back(std::move(finding));
      continue;
    }
    ++at->second.others;
    Finding& first = kept[at->second.kept];
    first.places.push_back({line, finding.column, finding.end_column, finding.message});
    std::move(finding.places.begin(), finding.places.end(), std::back_inserter(first.places));
    std::move(finding.edits.begin(), finding.edits.end(), std::back_inserter(first.edits));
  }
  for (const auto& [key, fold] : folds) {
    if (fold.others == 0) continue;
    const size_t functions =
        fold.functions.size() - 1;  // further ones, each with places of its own
    kept[fold.kept].message +=
        functions > 0
            ? fmt::format("; the same in {} more function{}", functions, functions == 1 ? "" : "s")
            : fmt::format("; the same at {} more place{}", fold.others,
                          fold.others == 1 ? "" : "s");
  }
  report.findings = std::move(kept);
}

void describe_scan(reports::Report& report, const std::vector<analyzer::SourceFacts>& all,
                   const analyzer::Toolkits& toolkits) {
  reports::SourceScan scan;
  std::map<std::string, size_t> missing;
  std::set<std::string> missing_of_partly;
  std::vector<std::string> harmless;  // the first error of each file that lost nothing by them
  for (const analyzer::SourceFacts& facts : all) {
    if (!facts.parsed) {
      ++scan.not_analysed;
      const std::string why = facts.problems.empty() ? "it cannot be read" : facts.problems.front();
      report.left_out.push_back(fmt::format("{}: {}", facts.file, why));
      continue;
    }
    ++scan.analysed;
    scan.functions += facts.functions;
    // A header that is missing costs what needs it, and an error what nothing was made of.
    if (!facts.lost.empty()) ++scan.partly;
    if (2 * facts.lost_places > facts.places) ++scan.mostly_lost;
    for (const std::string& header : facts.missing_headers) {
      ++missing[header];
      if (!facts.lost.empty()) missing_of_partly.insert(header);
    }
    if (!facts.lost.empty()) {
      report.remarks.push_back(
          fmt::format("{}: analysed in part, {} error{}, the first that counts: {}", facts.file,
                      facts.error_count, facts.error_count == 1 ? "" : "s", facts.lost.front()));
    } else if (!facts.problems.empty()) {
      harmless.push_back(facts.problems.front());
    }
  }
  if (!harmless.empty()) {
    report.remarks.push_back(
        fmt::format("{} file{} errors outside of what is judged, the first: {}", harmless.size(),
                    harmless.size() == 1 ? " has" : "s have", harmless.front()));
  }
  for (const auto& [header, count] : missing) {
    report.remarks.push_back(
        fmt::format("{}: not found, included by {} file{}; code that needs it is not analysed",
                    header, count, count == 1 ? "" : "s"));
  }
  scan.missing_headers.assign(missing_of_partly.begin(), missing_of_partly.end());
  scan.headers =
      toolkits.torch_root.empty()
          ? "the bundled minimal LibTorch"
          : fmt::format("LibTorch {} of {}", toolkits.torch_version, toolkits.torch_root);
  if (toolkits.torch_root.empty()) {
    report.remarks.push_back(
        fmt::format("{}, so the bundled minimal LibTorch was used; calls outside of it are not "
                    "seen, and --torch names another",
                    toolkits.why_bundled));
  }
  report.scan = scan;
}

}  // namespace dtypecheck::judging
