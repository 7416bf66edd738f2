// trial.h: the program run once more under the tracer, with changed sources, to its own end.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "cures/patch.h"
#include "platform/child.h"
#include "reports/judging/recorded_run.h"

namespace dtypecheck::cures {

// How far a run has come: its process that has come furthest.
struct Progress {
  uint64_t steps = 0;
  uint64_t op_calls = 0;

  bool has_reached(const Progress& other) const {
    return steps >= other.steps && op_calls >= other.op_calls;
  }
};
Progress progress_of(const Run& run);

struct TrialOptions {
  double timeout_s = 600;
  // Refused calls are repeated with operands cast (`trace --keep-going`), so that the run shows all
  // that is refused, and not the first alone.
  bool keep_going = false;
  // Random numbers are off in their last bits, which tells how much rounding moves the program's
  // end (`trace --nudge`); with keep_going.
  bool nudge = false;
  // Ends a program that goes on once it has come so far and then does nothing new: one may train
  // for hours. Nothing: it ends by itself.
  std::optional<Progress> may_end_after;
  // A step whose values are all looked at, and those of the step before; 0: none.
  uint32_t looked_at_step = 0;
  // Called now and then, with what to show a user who waits.
  std::function<void(const std::string& what)> progress = nullptr;
};

struct Trial {
  judging::RecordedRun recorded;
  std::vector<Finding> findings;  // of `recorded`, causes first
  std::optional<ChildEnd> end;    // nothing: it was ended before its end
  bool is_interrupted = false;    // by the user; nothing else is known then
  bool is_timed_out = false;      // it was ended for its time alone
  Progress till_steady;           // after as much nothing new was recorded, as far as was looked
  std::string last_words;         // what ended it, or its last line; not yet printable
  std::vector<double> numbers;    // those that it printed to standard output, in their order
  std::string problem;            // why it could not be run; nothing else is known then
  std::string writes_stay;        // why its writes were not kept apart; "" where they were

  uint64_t steps() const { return progress_of(recorded.run).steps; }
  bool ended_well() const { return end && end->is_success(); }
};

// Why a program cannot be built with a change while the user's files stay as they are; "".
std::string why_not_built(const Program& program);

// The user's files stay as they are: the program reads the patch's sources in place of its own, and
// what it writes below the folder where it is run, or where its arguments point, is thrown away
// (platform/overlay.h). All that it started has ended when this returns.
Trial run_trial(const Patch& patch, const Program& program, const TrialOptions& options);

}  // namespace dtypecheck::cures
