// tracing.h: a program under the tracer, and the report of its run: what `trace` does, and
// `preflight` on a GPU that is none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "platform/child.h"
#include "reports/judging/judged_report.h"

namespace dtypecheck::cli {

struct TraceCommand {
  std::vector<std::string> program;
  std::string out;
  bool steady = false;
  std::string check_values;  // steps besides the usual ones, or kUsualSteps; "": no checks
  std::string values;        // steps, or kUsualSteps; "": no digests
  std::string health;        // each so many steps, or kUsualSteps; "": none
  bool no_gpu = false;
  uint32_t timeline = 0;
  bool keep_going = false;
  bool fix = false;
  std::vector<std::string> in_float;  // modules
  bool record_draws = false;
  std::string replay;  // the folder of a run
  bool no_report = false;
  bool nudge = false;
  int seed = -1;  // none
  bool discard_writes = false;
  bool discard_all = false;  // wherever it writes to
  bool cure = false;
  judging::ReportOptions report;

  // Of another command than `trace`: how it is named in run.json, further options of stage 2
  // (tracer/protocol.md), what else the program's environment needs, given a folder of this tool's
  // own that libraries may be linked from, and the exit status, which is the program's own
  // otherwise.
  std::vector<std::string> under = {};  // trace/run_folder.h
  std::vector<std::string> hook_options = {};
  std::function<void(Environment&, const std::string& folder)> change_environment = {};
  std::function<int(const judging::RecordedRun&, reports::Report&, const ChildEnd&)> conclude = {};
  std::function<void()> has_ended = {};  // the program; before anything is judged
};

// Of a program that ended so; of one that was killed as a shell has it.
int status_of(const ChildEnd& end);

// --health, for a command that runs a program.
void add_health_option(Options& options, TraceCommand& command);

// Throws InputError where the program cannot be started or the options cannot be used.
int run_traced(const TraceCommand& command);

}  // namespace dtypecheck::cli
