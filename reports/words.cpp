#include "reports/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "platform/printable.h"
#include "platform/text.h"
#include "trace/op_call_fields.h"

namespace dtypecheck::reports {

std::string grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string counted(uint64_t number, const std::string& what) {
  const bool es = what.ends_with("ss");
  return fmt::format("{} {}{}", grouped(number), what, number == 1 ? "" : es ? "es" : "s");
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string relative_path(const Report& report, const std::string& file) {
  std::string folder = report.base_folder;
  if (folder.empty()) return file;
  if (!folder.ends_with('/')) folder += '/';
  return file.starts_with(folder) ? file.substr(folder.size()) : file;
}

static std::string without_folders_above(const Report& report, const std::string& file) {
  const std::string path = relative_path(report, file);
  for (const char* folder : {"/site-packages/", "/dist-packages/"}) {
    const size_t at = path.rfind(folder);
    if (at != std::string::npos) return path.substr(at + std::string(folder).size());
  }
  return path;
}

std::string short_path(const Report& report, const std::string& file) {
  return printable(without_folders_above(report, file));
}

namespace {

// Of files that are in a folder and are shown in another way: first those that others end with.
using Replacements = std::vector<std::pair<std::string, std::string>>;

Replacements replacements_in(const Report& report) {
  std::set<std::string> files;
  for (const OpCall& call : report.run.calls) {
    for (const SourceLine* line : {&call.site.line, &call.site.inner}) {
      if (line->file.find('/') != std::string::npos) files.insert(line->file);
    }
  }
  Replacements all;
  for (const std::string& file : files) {
    // Without what makes it printable: texts of findings are made so when they are shown.
    const std::string shown = without_folders_above(report, file);
    if (shown != file) all.emplace_back(file + ":", shown + ":");
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first.size() > b.first.size();
  });
  return all;
}

std::string replaced(std::string text, const Replacements& replacements) {
  for (const auto& [file, shown] : replacements) {
    for (size_t at = 0; (at = text.find(file, at)) != std::string::npos; at += shown.size())
      text.replace(at, file.size(), shown);
  }
  return text;
}

}  // namespace

std::string with_short_paths(const Report& report, std::string text) {
  return replaced(std::move(text), replacements_in(report));
}

void shorten_paths(Report& report) {
  const Replacements replacements = replacements_in(report);
  const auto shorten = [&](std::string& text) { text = replaced(std::move(text), replacements); };
  for (Finding& finding : report.findings) {
    shorten(finding.message);
    shorten(finding.why);
    shorten(finding.fix);
    for (Cure& cure : finding.cures) {
      shorten(cure.text);
      shorten(cure.reason);
    }
  }
}

std::string place(const Report& report, const SourceLine& line) {
  return printable(trace::place_text(
      line, [&](const std::string& file) { return without_folders_above(report, file); }));
}

std::string code_at(const Report& report, const SourceLine& line) {
  if (!report.line_text || !line.known() || line.line <= 0) return "";
  return printable(trimmed(report.line_text(line.file, line.line)));
}

static std::string step_text(uint32_t step) {
  return step == 0 ? "before the first step" : fmt::format("step {}", step);
}

std::string when(const Report& report, const Finding& finding) {
  if (report.scan) return "";  // source has neither phases nor steps
  std::vector<std::string> parts;
  if (finding.site.phase != Phase::kUnknown) parts.push_back(phase_name(finding.site.phase));
  if (finding.call != kNoOpCall) parts.push_back(step_text(finding.first_step));
  if (finding.count > 1) parts.push_back(grouped(finding.count) + " times");
  if (report.run.processes.size() > 1) parts.push_back(process_label(report.run, finding.process));
  return joined(parts, ", ");
}

std::string process_label(const Run& run, uint32_t index) {
  const Process* process = process_at(run, index);
  if (process == nullptr) return "unknown process";
  if (process->rank < 0) return fmt::format("pid {}", process->pid);
  return fmt::format("rank {} (pid {})", process->rank, process->pid);
}

std::string raised(const OpCall& call) {
  const std::string text = printable(call.op) + " raised";
  const bool plain = call.error_type.empty() || call.error_type == "c10::Error";
  return plain ? text : fmt::format("{} {}", text, printable(call.error_type));
}

const Process* process_at(const Run& run, uint32_t process) {
  return process < run.processes.size() ? &run.processes[process] : nullptr;
}

std::string verdict_words(const Cure& cure, bool with_reason) {
  if (cure.verdict == CureVerdict::kUnchecked && cure.reason.empty()) return "";
  const std::string reason = cure.reason.empty() || !with_reason ? "" : ": " + cure.reason;
  return fmt::format(" ({}{})", cure_verdict_name(cure.verdict), reason);
}

}  // namespace dtypecheck::reports
