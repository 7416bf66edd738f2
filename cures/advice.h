// advice.h: what a report says to try is a change that has a place in the source.
#pragma once

#include <vector>

#include "core/finding.h"
#include "reports/judging/recorded_run.h"

namespace dtypecheck::cures {

// Of each warning and error the first cure that can be written into the source becomes the first,
// and `fix` says it; nothing changes where none can be, where the source is not what ran, or where
// no python3 is on the PATH to read it. An interpreter that the trace names is not run.
void put_placed_first(std::vector<Finding>& findings, const judging::RecordedRun& recorded);

}  // namespace dtypecheck::cures
