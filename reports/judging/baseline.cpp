#include "reports/judging/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "platform/error.h"
#include "platform/files.h"
#include "platform/printable.h"
#include "platform/terminal.h"
#include "reports/formatting.h"
#include "rules/engine/rule.h"

namespace fs = std::filesystem;

namespace dtypecheck::judging {

static constexpr const char* kFirstLine = "# dtypecheck baseline ";
static constexpr const char* kVersion = "1";

// "0123456789abcdef", and with "-2" the second of those that are alike.
static bool is_id(std::string_view word) {
  constexpr size_t kDigits = 16;
  const std::string_view hash = word.substr(0, kDigits);
  const std::string_view nth = word.substr(hash.size());
  return hash.size() == kDigits && hash.find_first_not_of("0123456789abcdef") == hash.npos &&
         (nth.empty() || (nth.size() > 1 && nth.front() == '-' &&
                          nth.find_first_not_of("0123456789", 1) == nth.npos));
}

static void check_version(const std::string& line, const std::string& path) {
  if (!line.starts_with(kFirstLine)) return;
  const std::string found = line.substr(std::string_view(kFirstLine).size());
  const std::string version = found.substr(0, found.find_first_of(": "));
  if (version == kVersion) return;
  throw InputError(fmt::format(
      "{}: a baseline of version {}, this build reads {}; write it again with --update-baseline",
      path, printable(version), kVersion));
}

Baseline Baseline::read(const std::string& path) {
  std::istringstream text(read_given_file(path, "--update-baseline makes one"));
  Baseline baseline;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    if (++number == 1) check_version(line, path);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string word = line.substr(0, line.find(' '));
    if (!is_id(word)) {
      throw InputError(
          fmt::format("{}:{}: expected the 16 hexadecimal digits of a finding; write it "
                      "again with --update-baseline",
                      path, number));
    }
    baseline.ids_.insert(word);
  }
  return baseline;
}

size_t Baseline::drop_known(std::vector<Finding>& findings) const {
  return rules::drop_findings(findings,
                              [&](const Finding& finding) { return ids_.contains(finding.id); });
}

size_t Baseline::gone_from(const std::vector<Finding>& findings) const {
  const auto known = std::ranges::count_if(
      findings, [&](const Finding& finding) { return ids_.contains(finding.id); });
  return ids_.size() - static_cast<size_t>(known);
}

std::string baseline_text(const std::vector<Finding>& findings, const std::string& base_folder) {
  std::vector<std::string> lines;
  for (const Finding& finding : findings) {
    const SourceLine& line = finding.site.line;
    const fs::path shown = fs::path(line.file).lexically_proximate(base_folder);
    lines.push_back(
        fmt::format("{} {} {}:{}\n", finding.id, finding.rule, shown.string(), line.line));
  }
  std::ranges::sort(lines);
  std::string text = fmt::format("{}{}: findings that are accepted as they are; id, rule, place\n",
                                 kFirstLine, kVersion);
  for (const std::string& line : lines) text += line;
  return text;
}

void drop_baseline(reports::Report& report, const std::string& path) {
  const Baseline baseline = Baseline::read(path);
  const size_t gone = baseline.gone_from(report.findings);
  report.is_beside_baseline = true;
  report.remarks.push_back(
      fmt::format("{} of {} left out",
                  reports::counted(baseline.drop_known(report.findings), "finding"), path));
  // Of source, other files may have the others; of a run that is not whole, its missing part.
  if (gone == 0 || report.scan || !report.complete()) return;
  report.remarks.push_back(fmt::format("{} of {} not found again; --update-baseline drops {}",
                                       reports::counted(gone, "finding"), path,
                                       gone == 1 ? "it" : "them"));
}

void update_baseline(const reports::Report& report, const std::string& path) {
  std::string changed;
  if (is_there(path)) {
    const Baseline before = Baseline::read(path);
    const size_t gone = before.gone_from(report.findings);
    const size_t stayed = before.size() - gone;
    changed = fmt::format(": {} new, {} gone", report.findings.size() - stayed, gone);
  }
  replace_file(path, {baseline_text(report.findings, report.base_folder)});
  print_line(fmt::format("{} in {}{}; --baseline {} leaves {} out",
                         reports::counted(report.findings.size(), "finding"), path, changed, path,
                         report.findings.size() == 1 ? "it" : "them"));
}

}  // namespace dtypecheck::judging
