// baseline.h: findings that were there when a file of them was written, and that are not told
// again.
//   dtypecheck lint --write-baseline lint.baseline csrc     once
//   dtypecheck lint --baseline lint.baseline csrc           from then on
// A line each: the finding's id, which stays when lines above it are added, then its rule and place
// for people.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/finding.h"

namespace dtypecheck::judging {

class Baseline {
 public:
  // Throws InputError with file and line.
  static Baseline read(const std::string& path);

  // Drops what it knows; returns how many.
  size_t drop_known(std::vector<Finding>& findings) const;

 private:
  std::set<std::string> ids_;
};

// Paths are shown relative to the folder.
std::string baseline_text(const std::vector<Finding>& findings, const std::string& base_folder);

}  // namespace dtypecheck::judging
