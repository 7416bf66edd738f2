// cure.h: the search for a cure as commands run it.
#pragma once

#include <string>
#include <vector>

#include "curing/search.h"

namespace dtypecheck::cli {

// Shows on a terminal what is tried, and keeps what was found in the run's folder (cure.json).
curing::Search look_for_cure(const std::string& run_folder, const judging::RecordedRun& recorded,
                             const std::vector<Finding>& findings, const curing::Program& program,
                             curing::SearchOptions options);

}  // namespace dtypecheck::cli
