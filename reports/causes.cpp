#include "reports/causes.h"

#include <map>
#include <set>
#include <string>

namespace dtypecheck::reports {

namespace {

// Deeper than this a chain of consequences is shown flat: nobody reads it, and it costs stack.
constexpr int kMaxDepth = 16;

class Forest {
 public:
  explicit Forest(const std::vector<Finding>& findings) {
    for (const Finding& finding : findings) ids_.insert(finding.id);
    for (const Finding& finding : findings) {
      if (!finding.follows.empty()) followers_[finding.follows].push_back(&finding);
    }
  }

  bool is_root(const Finding& finding) const {
    return finding.follows == finding.id || !ids_.contains(finding.follows);
  }
  bool is_placed(const Finding& finding) const { return placed_.contains(&finding); }

  CauseTree grow(const Finding& finding, int depth = 0) {
    placed_.insert(&finding);
    CauseTree cause{&finding, {}};
    const auto followers = followers_.find(finding.id);
    if (followers == followers_.end() || depth == kMaxDepth) return cause;
    for (const Finding* follower : followers->second) {
      if (!is_placed(*follower)) cause.consequences.push_back(grow(*follower, depth + 1));
    }
    return cause;
  }

 private:
  std::set<std::string> ids_;
  std::map<std::string, std::vector<const Finding*>> followers_;
  std::set<const Finding*> placed_;
};

}  // namespace

Count count(const std::vector<Finding>& findings) {
  const Forest forest(findings);
  Count count;
  for (const Finding& finding : findings) {
    if (!forest.is_root(finding)) continue;
    ++count.causes;
    if (finding.severity == Severity::kError) ++count.errors;
    if (finding.severity == Severity::kWarning) ++count.warnings;
    if (finding.severity == Severity::kNote) ++count.notes;
  }
  count.consequences = findings.size() - count.causes;
  return count;
}

std::vector<CauseTree> causes(const std::vector<Finding>& findings) {
  Forest forest(findings);
  std::vector<CauseTree> roots;
  for (const Finding& finding : findings) {
    if (forest.is_root(finding)) roots.push_back(forest.grow(finding));
  }
  for (const Finding& finding : findings) {
    if (!forest.is_placed(finding)) roots.push_back(forest.grow(finding));
  }
  return roots;
}

}  // namespace dtypecheck::reports
