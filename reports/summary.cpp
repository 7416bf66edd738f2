#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "core/compiled_ops.h"
#include "core/whole_run.h"
#include "ops/ops.h"
#include "platform/printable.h"
#include "reports/formatting.h"
#include "reports/late_error.h"

namespace dtypecheck::reports {

namespace {

using Lines = std::vector<std::string>;

std::string counted_findings(const Count& count) {
  if (count.consequences == 0) {
    return fmt::format("{}, {}, {}", counted(count.errors, "error"),
                       counted(count.warnings, "warning"), counted(count.notes, "note"));
  }
  Lines kinds;
  if (count.errors > 0) kinds.push_back(counted(count.errors, "error"));
  if (count.warnings > 0) kinds.push_back(counted(count.warnings, "warning"));
  if (count.notes > 0) kinds.push_back(counted(count.notes, "note"));
  return fmt::format("{} ({}), {}", counted(count.causes, "cause"), joined(kinds, ", "),
                     counted(count.consequences, "consequence"));
}

std::string looked_at(const Summary& s) {
  return fmt::format("{} ({}), {}, {}", counted(s.op_calls, "op call"),
                     counted(s.signatures, "signature"), counted(s.steps, "step"),
                     counted(s.processes, "process"));
}

std::string looked_at(const SourceScan& scan) {
  std::string text = counted(scan.analysed, "file");
  if (scan.partly > 0) text += fmt::format(" ({} in part)", scan.partly);
  text += ", " + counted(scan.functions, "function");
  if (scan.not_analysed > 0) {
    text += fmt::format("; {} not analysed", counted(scan.not_analysed, "file"));
  }
  return text;
}

void say_invalid(const Report& report, Lines& out) {
  uint64_t repaired = 0;
  for (const OpCall& call : report.run.calls) {
    if (call.outcome == Outcome::kRepaired) repaired += call.count;
  }
  if (repaired == 0) return;
  out.push_back(fmt::format("results are not valid: {} would have failed and ran on cast operands",
                            counted(repaired, "op call")));
}

// The ops by how often they were served, the most frequent first. Those that kernels/ computed
// called its operator.
void say_served(const Report& report, Lines& out) {
  std::set<const OpCall*> by_kernels;
  for (const OpCall& call : report.run.calls) {
    if (call.op.starts_with("dtypecheck::")) by_kernels.insert(report.run.call(call.parent));
  }
  std::map<std::string, uint64_t> by_op;
  for (const OpCall& call : report.run.calls) {
    if (call.outcome != Outcome::kServed) continue;
    by_op[printable(call.op) + (by_kernels.count(&call) ? " by kernels" : " by LibTorch")] +=
        call.count;
  }
  if (by_op.empty()) return;
  std::vector<std::pair<std::string, uint64_t>> ops(by_op.begin(), by_op.end());
  std::ranges::stable_sort(ops, [](const auto& a, const auto& b) { return a.second > b.second; });
  constexpr size_t kShown = 6;
  Lines names;
  for (size_t i = 0; i < std::min(ops.size(), kShown); ++i)
    names.push_back(fmt::format("{} {}", grouped(ops[i].second), ops[i].first));
  if (ops.size() > kShown) names.push_back(counted(ops.size() - kShown, "further op"));
  out.push_back(
      fmt::format("served by --fix in Float, each result rounded once: {}; results are "
                  "valid",
                  joined(names, ", ")));
}

void say_damaged(const Report& report, Lines& out) {
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) {
    const Process& process = report.run.processes[i];
    const std::string label = process_label(report.run, i);
    if (!process.damaged.empty()) {
      out.push_back(fmt::format("partial: {}: {}", label, printable(process.damaged)));
    }
    if (process.signatures_lost > 0) {
      out.push_back(fmt::format("partial: {}: {} found no room on the disk and {} missing", label,
                                counted(process.signatures_lost, "signature"),
                                process.signatures_lost == 1 ? "is" : "are"));
    }
  }
}

void say_killed(const Report& report, Lines& out) {
  for (uint32_t i = 0; i < report.run.processes.size() && !report.end_is_reported; ++i) {
    const int signal = report.run.processes[i].signal;
    if (signal == 0) continue;
    out.push_back(
        fmt::format("{} was killed by signal {} ({}); what was recorded until then is here",
                    process_label(report.run, i), signal, strsignal(signal)));
  }
}

bool is_error(const Finding& finding) { return finding.severity == Severity::kError; }

bool any_has_uncaught(const Run& run) {
  return std::ranges::any_of(run.processes, [](const Process& process) {
    return !process.fact(FactKey::kUncaught).empty();
  });
}

// What ended the program is said where no finding speaks of a call that threw in it: a silence
// under a traceback could be read as a judgement that dtypes are in order.
void say_uncaught(const Report& report, Lines& out) {
  constexpr size_t kRoom = 160;
  const auto in_short = [](const std::string& uncaught) {
    return cut(printable(raised_at_last(uncaught)), kRoom);
  };
  const std::set<uint32_t> reported = processes_of_throws(report.run, report.findings);
  const bool has_error = std::ranges::any_of(report.findings, is_error);
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) {
    const std::string& uncaught = report.run.processes[i].fact(FactKey::kUncaught);
    if (uncaught.empty() || reported.count(i) != 0) continue;
    if (uncaught.starts_with("KeyboardInterrupt")) continue;
    if (report.accepted_throws_of.count(i) != 0) {
      out.push_back(fmt::format("{} ended by an accepted error: {}", process_label(report.run, i),
                                in_short(uncaught)));
      continue;
    }
    const std::string ended = in_short(uncaught);
    out.push_back(has_error ? fmt::format("{} ended by {}; an error above may be why",
                                          process_label(report.run, i), ended)
                            : fmt::format("no finding explains what ended {}: {}",
                                          process_label(report.run, i), ended));
    const std::string late = late_error_text(report.run, i, uncaught);
    if (!late.empty()) out.push_back(late);
  }
}

// An exception that a process caught or handed to another is in no trace where that one computed
// nothing.
void say_status(const Report& report, Lines& out) {
  const std::set<uint32_t> reported = processes_of_throws(report.run, report.findings);
  const bool has_error = std::ranges::any_of(report.findings, is_error);
  if (has_error || any_has_uncaught(report.run)) return;
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) {
    const std::string& status = report.run.processes[i].fact(FactKey::kExitStatus);
    if (status.empty() || status == "0") continue;
    if (reported.count(i) != 0 || report.accepted_throws_of.count(i) != 0) continue;
    out.push_back(
        fmt::format("no finding explains why {} ended with status {}: it caught what ended it, or "
                    "handed that to the process that started it, as a spawned one does; the "
                    "program's own output says more",
                    process_label(report.run, i), status));
  }
}

void say_without_end(const Report& report, Lines& out) {
  Lines labels;
  for (uint32_t i = 0; i < report.run.processes.size(); ++i) {
    const Process& process = report.run.processes[i];
    if (process.signal != 0 || !has_no_end(report.run, process)) continue;
    labels.push_back(process_label(report.run, i));
  }
  if (labels.empty()) return;
  const size_t shown = std::min<size_t>(labels.size(), 4);
  std::string who = joined(Lines(labels.begin(), labels.begin() + shown), ", ");
  if (shown < labels.size()) who += fmt::format(" and {} more", labels.size() - shown);
  out.push_back(
      fmt::format("no end was recorded of {}: {}; what was recorded until then is here", who,
                  any_has_uncaught(report.run)
                      ? "ended by its launcher, perhaps, when another process had failed"
                      : "killed, by the kernel where memory ran out perhaps, or still running"));
}

void say_pretended(const Report& report, Lines& out) {
  if (pretended_heading(report).empty()) return;
  const bool compiled = std::ranges::any_of(
      report.run.calls, [](const OpCall& call) { return ops::is_compiled(call.op); });
  std::string text =
      "not known without a GPU: what depends on values (overflow, NaN, steps that a GradScaler "
      "skips), what cuBLAS, cuDNN or a custom kernel would refuse inside";
  if (!compiled) text += ", and what torch.compile would do, since all runs eagerly";
  out.push_back(text);
}

void say_left_out(const Report& report, Lines& out) {
  for (const std::string& what : report.left_out) out.push_back("left out: " + printable(what));
}

void say_sampled(const Summary& summary, Lines& out) {
  if (summary.steps_traced >= summary.steps) return;
  out.push_back(fmt::format("steady: {} of {} traced; counts are those of the traced steps",
                            grouped(summary.steps_traced), counted(summary.steps, "step")));
}

void say_compiled(const Report& report, Lines& out) {
  constexpr size_t kShown = 8;
  std::map<std::string, std::set<std::string>> raised;  // by dtype
  for (const OpCall& call : report.run.calls) {
    if (!ops::is_compiled(call.op)) continue;
    for (const CompiledOp& op : compiled_ops(report.run, call))
      if (op.is_raised()) raised[op.result + " in " + op.computed].insert(op.op);
  }
  for (const auto& [dtypes, ops] : raised) {
    Lines shown(ops.begin(), ops.end());
    const size_t left_out = shown.size() > kShown ? shown.size() - kShown : 0;
    if (left_out > 0) shown.resize(kShown);
    out.push_back(
        fmt::format("torch.compile computes ops of {}, and rounds what a kernel stores, where "
                    "eager rounds after "
                    "each: {}{}",
                    printable(dtypes), printable(joined(shown, ", ")),
                    left_out == 0 ? "" : fmt::format(" and {} more", left_out)));
  }
}

// "trainer: Net::forward+0x1a2" is all that is known of a place in a program without it.
void say_without_lines(const Report& report, Lines& out) {
  std::set<std::string> names;
  for (const Finding& finding : report.findings) {
    const std::string& place = finding.site.line.function;
    const size_t end = place.find(": ");
    const bool is_offset = end != place.npos && place.find("+0x", end) != place.npos;
    if (!finding.site.line.known() && is_offset) names.insert(place.substr(0, end));
  }
  for (const std::string& name : names)
    out.push_back(printable(
        fmt::format("{} has no debug information, so that no lines are known: build it with -g, "
                    "CMake's RelWithDebInfo",
                    name)));
}

}  // namespace

Summary summarize(const Report& report) {
  Summary summary;
  for (const OpCall& call : report.run.calls) summary.op_calls += call.count;
  summary.signatures = report.run.calls.size();
  summary.processes = report.run.processes.size();
  for (const Process& process : report.run.processes) {
    if (process.steps < summary.steps || process.steps == 0) continue;
    summary.steps = process.steps;
    summary.steps_traced = process.steps_traced;
  }
  summary.findings = count(report.findings);
  return summary;
}

std::string pretended_heading(const Report& report) {
  std::string gpu;
  double peak_bytes = 0;
  for (const Process& process : report.run.processes) {
    if (const std::string& name = process.fact(FactKey::kPretendedGpu); !name.empty())
      gpu = printable(name);
    const std::string& peak = process.fact(FactKey::kPretendedPeak);
    peak_bytes = std::max(peak_bytes, std::strtod(peak.c_str(), nullptr));
  }
  if (gpu.empty()) return "";
  const Summary s = summarize(report);
  const std::string found = report.findings.empty() ? "no findings" : counted_findings(s.findings);
  constexpr double kMib = 1 << 20, kGib = 1 << 30;
  const std::string peak = peak_bytes < kGib / 10 ? fmt::format("{:.0f} MiB", peak_bytes / kMib)
                                                  : fmt::format("{:.1f} GiB", peak_bytes / kGib);
  return fmt::format("on a pretended {}, {}: {}; peak {} reserved", gpu, counted(s.steps, "step"),
                     found, peak);
}

std::string seen_whole(const Report& report) {
  if (!report.scan) return "";
  const SourceScan& scan = *report.scan;
  if (scan.partly + scan.not_analysed == 0) return "";
  Lines lacks;
  if (scan.partly > 0) lacks.push_back(fmt::format("{} in part", scan.partly));
  if (scan.not_analysed > 0) lacks.push_back(fmt::format("{} not at all", scan.not_analysed));
  const Lines& missing = scan.missing_headers;
  constexpr size_t kShown = 3;
  const Lines shown(missing.begin(), missing.begin() + std::min(missing.size(), kShown));
  std::string text =
      fmt::format("{} of {} seen whole, {}", scan.analysed - scan.partly,
                  counted(scan.analysed + scan.not_analysed, "file"), joined(lacks, ", "));
  if (!shown.empty()) text += fmt::format("; not found: {}", joined(shown, ", "));
  if (missing.size() > kShown) text += fmt::format(" and {} more", missing.size() - kShown);
  return printable(text);
}

std::string headline(const Report& report) {
  const Summary s = summarize(report);
  const std::string where = report.scan ? looked_at(*report.scan) : looked_at(s);
  if (!report.findings.empty()) {
    return fmt::format("{} in {}", counted_findings(s.findings), where);
  }
  if (report.scan && report.scan->sees_too_little())
    return fmt::format("no findings in what was seen of {}", where);
  if (report.scan) return fmt::format("no findings in {}", where);
  if (s.op_calls == 0) return "no op call was recorded, so there was nothing to judge";
  const char* none = report.complete() ? "no findings in" : "no findings in what was recorded:";
  return fmt::format("{} {}", none, looked_at(s));
}

std::vector<std::string> devices(const Run& run) {
  std::set<std::string> names;
  for (const Process& process : run.processes) {
    names.insert(process.devices.begin(), process.devices.end());
  }
  return {names.begin(), names.end()};
}

std::string libtorch_text(const Run& run) {
  std::set<std::string> versions;
  for (const Process& process : run.processes) {
    if (!process.libtorch.empty()) versions.insert("LibTorch " + process.libtorch);
  }
  Lines parts(versions.begin(), versions.end());
  for (const std::string& device : devices(run)) parts.push_back(device);
  return printable(joined(parts, ", "));
}

std::vector<std::string> what_is_missing(const Report& report) {
  Lines out;
  say_damaged(report, out);
  say_killed(report, out);
  say_without_end(report, out);
  say_left_out(report, out);
  if (!report.scan && report.run.calls.empty()) out.push_back(headline(report));
  return out;
}

std::vector<std::string> caveats(const Report& report) {
  Lines out;
  say_pretended(report, out);
  say_invalid(report, out);
  say_served(report, out);
  say_damaged(report, out);
  say_killed(report, out);
  say_uncaught(report, out);
  say_status(report, out);
  say_without_end(report, out);
  say_left_out(report, out);
  say_sampled(summarize(report), out);
  say_compiled(report, out);
  say_without_lines(report, out);
  for (const std::string& remark : report.remarks) out.push_back(printable(remark));
  return out;
}

}  // namespace dtypecheck::reports
