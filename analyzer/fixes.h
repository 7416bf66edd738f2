// fixes.h: applies the mechanical cures of findings to the sources.
#pragma once

#include <string>
#include <vector>

#include "core/finding.h"

namespace dtypecheck::analyzer {

struct AppliedFixes {
  size_t findings = 0;
  size_t files = 0;
  std::vector<std::string> not_applied;  // "a.cu:12: …", the file has changed or two cures overlap
};

// Rewrites the files, and drops the findings whose cures were all applied. A finding is cured in
// full or not at all; where two want the same place the first one gets it. Throws InputError when a
// file cannot be written.
AppliedFixes apply_fixes(std::vector<Finding>& findings);

}  // namespace dtypecheck::analyzer
