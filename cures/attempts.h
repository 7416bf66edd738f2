// attempts.h: what a search runs: the program repaired, then with one change after the other. Each
// is judged and noted, and there is an end to their number.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cures/candidates.h"
#include "cures/merit.h"
#include "cures/search.h"
#include "cures/verdict.h"

namespace dtypecheck::cures {

struct Attempted {
  Node node = {};
  Judgement judged = {};
};

class Attempts {
 public:
  Attempts(const std::vector<Finding>& findings, const Program& program,
           const SearchOptions& options);

  // The program as it is, with refused calls repaired; nullptr where that tells nothing.
  std::shared_ptr<const Trial> repair(const Trial& recorded, bool runs_eagerly);
  // The program and its settings as they were; `is_refused` by an op.
  void begin(const Run& run, bool is_refused, const LowShare& before);
  // What the changes from now on are for.
  void aim(const Node& node, const Finding& goal) { first_ = {&node, &goal}; }

  // The best way to write the candidate that could be chosen yet, on top of the node's changes.
  Attempted attempt(const Node& node, const Finding& goal, const Candidate& candidate);
  // What was changed on the way to a later change may not be needed any more: what each step
  // changed is put back alone, and stays so where the program is as well without.
  void shorten(const Node& node, const Finding& goal, Node& proven);

  bool is_over() const;
  bool is_chosen() const;  // nothing is better than what is proven
  bool is_fixed() const;   // by no workaround
  bool could_be_chosen(const Merit& at_best) const;
  void reserve(int for_settings) { reserved_ = for_settings; }
  int reserved() const { return reserved_; }

  Search found;
  Judge judge;
  std::vector<Setting> settings;

 private:
  Trial run(const Patch& patch, const Program& program, const std::string& what,
            TrialOptions options);
  TrialOptions as_far_as_needed() const;
  Attempted run_way(const Node& node, const Finding& goal, Node next, bool is_setting, Merit merit);
  Judgement judge_way(const Node& node, const Finding& goal, const Node& next, bool is_setting);
  bool is_new(const Node& next);
  std::string broken_mode(const Patch& patch);
  std::string recorded_id(const Node& node, const Finding& finding) const;

  const std::vector<Finding>& findings_;
  const Program& program_;
  const SearchOptions& options_;
  std::pair<const Node*, const Finding*> first_;
  LowShare low_before_;
  bool is_refused_ = false;              // the recorded run
  std::optional<bool> float_mode_runs_;  // without a change; asked where one breaks it
  int tried_ = 0, further_ = 0;          // runs with a change, and those behind the first proof
  int reserved_ = 0;                     // of the tries, for settings
  std::set<std::string> known_;          // changes
};

}  // namespace dtypecheck::cures
