// baseline.h: a file of the findings that were there when it was written, which are not reported
// again; of source and of runs.
//   dtypecheck report --baseline dtype.baseline --update-baseline     once
//   dtypecheck report --baseline dtype.baseline                       from then on
// A line each: the finding's id, which stays when lines above it are added, then its rule and place
// for people.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/finding.h"
#include "reports/report.h"

namespace dtypecheck::judging {

class Baseline {
 public:
  // Throws InputError with file and line.
  static Baseline read(const std::string& path);

  // Drops what it knows; returns how many.
  size_t drop_known(std::vector<Finding>& findings) const;
  // How many of its findings are not among these.
  size_t gone_from(const std::vector<Finding>& findings) const;
  size_t size() const { return ids_.size(); }

 private:
  std::set<std::string> ids_;
};

// Paths are shown relative to the folder.
std::string baseline_text(const std::vector<Finding>& findings, const std::string& base_folder);

// Leaves out the findings of the file, and says in the remarks how many those are and how many of
// the file were not found again.
void drop_baseline(reports::Report& report, const std::string& path);
// Writes what the report has now, and says on standard error what changed.
void update_baseline(const reports::Report& report, const std::string& path);

}  // namespace dtypecheck::judging
