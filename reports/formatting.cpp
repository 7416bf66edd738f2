#include "reports/formatting.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <sstream>
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

std::string number_text(double number) {
  return number < 10 && number != static_cast<int>(number) ? fmt::format("{:.1f}", number)
                                                           : fmt::format("{:.0f}", number);
}

std::vector<std::string> values_of(const Run& run, std::string Process::* field) {
  std::set<std::string> values;
  for (const Process& process : run.processes)
    if (!(process.*field).empty()) values.insert(process.*field);
  return {values.begin(), values.end()};
}

std::string joined(const std::vector<std::string>& parts, const std::string& between) {
  return fmt::format("{}", fmt::join(parts, between));
}

std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_' || c == '~';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return path.starts_with('/') ? "file://" + uri : uri;
}

std::string place(const SourceLine& line) { return printable(trace::place_text(line, shown_path)); }

std::vector<ExcerptLine> excerpt_at(const Report& report, const SourceLine& line, int around) {
  std::vector<ExcerptLine> lines;
  if (!report.line_text || !line.known() || line.line <= 0) return lines;
  for (int number = std::max(1, line.line - around); number <= line.line + around; ++number) {
    std::string text = report.line_text(line.file, number);
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    lines.push_back({number, std::move(text), number == line.line});
  }
  const auto is_empty = [](const ExcerptLine& one) { return one.text.empty(); };
  const auto here = std::ranges::find_if(lines, [](auto& one) { return one.is_here; });
  if (is_empty(*here)) return {};
  lines.erase(lines.begin(), std::find_if_not(lines.begin(), here, is_empty));
  while (is_empty(lines.back())) lines.pop_back();
  size_t indent = std::string::npos;
  for (const ExcerptLine& one : lines) indent = std::min(indent, one.text.find_first_not_of(" \t"));
  for (ExcerptLine& one : lines) {
    if (indent <= one.text.size()) one.text.erase(0, indent);
    one.text = printable(one.text);
  }
  return lines;
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
  const OpCall* call = report.run.call(finding.call);
  const bool is_shared = call != nullptr && call->made_by.size() > 0 &&
                         call->made_by.back().last > call->made_by.front().first;
  if (is_shared) {
    parts.push_back(ranks_text(report.run, call->made_by));
  } else if (report.run.processes.size() > 1) {
    parts.push_back(process_label(report.run, finding.process));
  }
  return joined(parts, ", ");
}

std::string time_text(int64_t unix_ns) {
  if (unix_ns <= 0) return "";
  const std::time_t seconds = unix_ns / 1'000'000'000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
}

std::string duration_text(double seconds) {
  if (seconds < 1) return fmt::format("{:.0f} ms", seconds * 1000);
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<uint64_t>(seconds);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", grouped(whole / 3600), whole / 60 % 60);
}

std::string process_label(const Run& run, uint32_t index) {
  const Process* process = process_at(run, index);
  if (process == nullptr) return "unknown process";
  if (process->pid == 0 && !process->file.empty()) return printable(process->file);  // unreadable
  if (process->rank < 0) return fmt::format("pid {}", process->pid);
  return fmt::format("rank {} (pid {})", process->rank, process->pid);
}

std::string raised(const OpCall& call, const char* verb) {
  const bool is_served = call.outcome == Outcome::kServed;
  const std::string text = printable(call.op) + " " + (is_served ? "would have raised" : verb);
  const bool plain = call.error_type.empty() || call.error_type == "c10::Error";
  return plain ? text : fmt::format("{} {}", text, printable(call.error_type));
}

std::string raised_at_last(const std::string& message) {
  constexpr std::string_view kTraceback = "Traceback (most recent call last):";
  const size_t at = message.rfind(kTraceback);
  if (at == message.npos) return message;
  std::istringstream lines(message.substr(at + kTraceback.size()));
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() != ' ') return line;
  return message;
}

std::string went_on(const OpCall& call) {
  if (call.outcome == Outcome::kRepaired)
    return "its operands were cast and the run went on: what it computes is not valid";
  if (call.outcome != Outcome::kServed) return "";
  const std::optional<Dtype> result = call.result_dtype();
  const bool is_rounded = result && kLowPrecision.contains(*result);
  return fmt::format(
      "served by --fix: computed from operands cast to Float{}; what it computes is "
      "valid",
      is_rounded ? fmt::format(", rounded once to {}", dtype_name(*result)) : "");
}

std::optional<double> seconds_of(const Process& process) {
  const int64_t ns = process.ended_unix_ns - process.started_unix_ns;
  if (process.started_unix_ns <= 0 || process.ended_unix_ns <= 0 || ns < 0) return std::nullopt;
  return static_cast<double>(ns) / 1e9;
}

const Process* process_at(const Run& run, uint32_t process) {
  return process < run.processes.size() ? &run.processes[process] : nullptr;
}

Fix fix_of(const Report& report, const Finding& finding) {
  if (finding.fix.empty()) return {};
  if (!finding.proof.empty())
    return {finding.is_workaround ? "workaround" : "fix",
            fmt::format("{} ({})", finding.fix, finding.proof)};
  return {report.scan ? "fix" : "try", finding.fix};
}

}  // namespace dtypecheck::reports
