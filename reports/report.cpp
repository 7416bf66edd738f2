#include "reports/report.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "core/whole_run.h"

namespace dtypecheck::reports {

bool Report::complete() const {
  return left_out.empty() && std::ranges::all_of(run.processes, [this](const Process& process) {
           return process.complete() && !has_no_end(run, process);
         });
}

std::set<uint32_t> processes_of_throws(const Run& run, const std::vector<Finding>& findings) {
  // A finding stands for what threw at its line in each rank.
  using CalledAt = std::tuple<std::string_view, std::string_view, int>;
  const auto called_at = [](const OpCall& call) {
    return CalledAt(call.op, call.site.line.file, call.site.line.line);
  };
  std::set<CalledAt> reported;
  for (const Finding& finding : findings) {
    const OpCall* call = run.call(finding.call);
    if (call != nullptr && call->outcome == Outcome::kThrew) reported.insert(called_at(*call));
  }
  std::set<uint32_t> processes;
  for (const OpCall& call : run.calls) {
    if (call.outcome != Outcome::kThrew || !reported.contains(called_at(call))) continue;
    processes.insert(call.process);
    for (const ProcessRange& range : call.made_by)
      for (size_t i = range.first; i < run.processes.size() && i <= range.last; ++i)
        processes.insert(static_cast<uint32_t>(i));
  }
  return processes;
}

bool Report::results_valid() const {
  return std::ranges::none_of(
      run.calls, [](const OpCall& call) { return call.outcome == Outcome::kRepaired; });
}

const std::vector<Format>& all_formats() {
  constexpr bool kLines = true, kDocument = false;
  static const std::vector<Format> formats = {
#define FORMAT(name, summary, form) {#name, summary, write_##name, form},
#include "reports/format_list.inc"
#undef FORMAT
  };
  return formats;
}

const Format* find_format(const std::string& name) {
  for (const Format& format : all_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace dtypecheck::reports
