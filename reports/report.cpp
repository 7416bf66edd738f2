#include "reports/report.h"

#include <algorithm>

namespace dtypecheck::reports {

// A worker that a process forks ends by os._exit as a rule (Python's multiprocessing does it), so
// that it leaves no end behind says nothing when its parent went through its own.
static bool is_worker_of_an_ended(const Run& run, const Process& process) {
  return std::any_of(run.processes.begin(), run.processes.end(), [&](const Process& other) {
    return other.end != EndState::kRunning && other.host == process.host &&
           other.pid == process.parent_pid;
  });
}

bool has_no_end(const Run& run, const Process& process) {
  return process.end == EndState::kRunning && !is_worker_of_an_ended(run, process);
}

bool Report::complete() const {
  return left_out.empty() &&
         std::all_of(run.processes.begin(), run.processes.end(), [this](const Process& process) {
           return process.complete() && !has_no_end(run, process);
         });
}

bool Report::results_valid() const {
  return std::none_of(run.calls.begin(), run.calls.end(),
                      [](const OpCall& call) { return call.outcome == Outcome::kRepaired; });
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
