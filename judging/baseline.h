// baseline.h: findings that were there when a file of them was written, and that are not told
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

// Leaves out what the file knows, and says so in the remarks, with what of it did not come again.
void drop_baseline(reports::Report& report, const std::string& path);
// Writes what the report has now, and says on standard error what changed.
void update_baseline(const reports::Report& report, const std::string& path);

}  // namespace dtypecheck::judging
