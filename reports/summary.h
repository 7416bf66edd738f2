// summary.h: the whole report in a few numbers and lines, alike in every format.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/causes.h"
#include "reports/report.h"

namespace dtypecheck::reports {

struct Summary {
  uint64_t op_calls = 0;  // recorded ones: the sum of all counts
  uint64_t signatures = 0;
  uint64_t steps = 0;         // of the process that made the most: ranks step together
  uint64_t steps_traced = 0;  // of the same process
  uint64_t processes = 0;
  Count findings;
};
Summary summarize(const Report& report);

// "1 error, 0 warnings, 2 notes in 41,312 op calls (618 signatures), 3 steps, 1 process", or, where
// one thing led to another, "1 cause (1 error), 3 consequences in …"; when there is none, a line
// that says so, and that does not call clean what was not seen in full.
// Of a run on a pretended GPU: which, how far it came, what was found, how much memory it would
// take; empty for every other.
std::string pretended_heading(const Report& report);

// "38 of 41 files seen whole, 3 in part; not found: nnet.h", of source that was not all understood;
// else empty.
std::string seen_whole(const Report& report);

std::string headline(const Report& report);

std::string libtorch_text(const Run& run);         // "LibTorch 2.11.0, cpu"; "" not known
std::vector<std::string> devices(const Run& run);  // of all processes, sorted

// What of the run is not there, one line each: damaged, lost, left out, without an end, or all of
// it. With any of it "no findings" does not mean that the run is clean.
std::vector<std::string> what_is_missing(const Report& report);

// What limits the report: results that are not valid, partial traces, missing processes, sampled
// steps, features that were off, remarks. One line each, the gravest first.
std::vector<std::string> caveats(const Report& report);

}  // namespace dtypecheck::reports
