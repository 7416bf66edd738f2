// cure.h: the search for a cure as commands run it.
#pragma once

#include <string>
#include <vector>

#include "cures/search.h"

namespace dtypecheck::cli {

// Shows on a terminal what is tried, and keeps what was found in the run's folder (cure.json).
cures::Search look_for_cure(const std::string& run_folder, const judging::RecordedRun& recorded,
                            const std::vector<Finding>& findings, const cures::Program& program,
                            cures::SearchOptions options);

}  // namespace dtypecheck::cli
