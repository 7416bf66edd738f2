#include "rules/engine/caught_exception.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "rules/engine/run_index.h"
#include "rules/engine/throws.h"

namespace dtypecheck::rules {
namespace {

std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

bool says(const std::string& uncaught, const OpCall& call) {
  return !call.error.empty() &&
         uncaught.find(as_raised(first_line(call.error))) != std::string::npos;
}

// A worker hands its exception to the process that made it, and ends as if nothing had been.
bool parent_failed(const Run& run, const Process& process) {
  return std::ranges::any_of(run.processes, [&](const Process& other) {
    return other.pid == process.parent_pid && other.host == process.host && other.ended_badly();
  });
}

// A cell that raised ends, and the notebook waits for the next one.
bool is_in_notebook(const OpCall& call) {
  const std::string& file = call.site.line.file;
  return file.starts_with("In [") || file.find("/ipykernel_") != file.npos ||
         file.starts_with("<ipython-input");
}

}  // namespace

bool was_caught(const Run& run, const OpCall& call) {
  if (call.outcome != Outcome::kThrew || is_in_notebook(call)) return false;
  const Process& process = run.process_of(call);
  // A cell may have called a module of the user's own, of which the notebook showed the exception.
  if (!process.cells.empty() && is_users_own(call.site)) return false;
  const std::string status = process.fact(FactKey::kExitStatus);
  const std::string uncaught = as_raised(process.fact(FactKey::kUncaught));
  if (uncaught.empty()) return status == "0" && !parent_failed(run, process);
  if (says(uncaught, call)) return false;
  // What ended the program is another refusal. An exception that wraps this one would say neither.
  return std::ranges::any_of(run.calls, [&](const OpCall& other) {
    return other.process == call.process && other.outcome == Outcome::kThrew &&
           says(uncaught, other);
  });
}

}  // namespace dtypecheck::rules
