#include "reports/causes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

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

  bool is_root(const Finding& finding) const { return !ids_.contains(finding.follows); }
  bool is_placed(const Finding& finding) const { return placed_.contains(&finding); }

  Cause grow(const Finding& finding, int depth = 0) {
    placed_.insert(&finding);
    Cause cause{&finding, {}, {}};
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

Severity worst_in(const Cause& cause) {
  Severity worst = cause.finding->severity;
  for (const Cause& consequence : cause.consequences) {
    worst = std::max(worst, worst_in(consequence));
  }
  return worst;
}

// Turns the tree round: down to the first of the worst findings, each cause on the way moves below
// the consequence that led there.
Cause with_worst_first(Cause root) {
  const Severity worst = worst_in(root);
  while (root.finding->severity < worst) {
    const auto next = std::find_if(root.consequences.begin(), root.consequences.end(),
                                   [&](const Cause& c) { return worst_in(c) == worst; });
    Cause lead = std::move(*next);
    root.consequences.erase(next);
    lead.caused_by.push_back(std::move(root));
    root = std::move(lead);
  }
  return root;
}

}  // namespace

std::vector<Cause> causes(const std::vector<Finding>& findings) {
  Forest forest(findings);
  std::vector<Cause> roots;
  for (const Finding& finding : findings) {
    if (forest.is_root(finding)) roots.push_back(with_worst_first(forest.grow(finding)));
  }
  for (const Finding& finding : findings) {
    if (!forest.is_placed(finding)) roots.push_back(with_worst_first(forest.grow(finding)));
  }
  return roots;
}

}  // namespace dtypecheck::reports
