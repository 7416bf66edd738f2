// verdict.h: what a run of the program with a change says of the change.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "core/dtype_set.h"
#include "cures/tries.h"

namespace dtypecheck::cures {

// The trained parameters of a run with the dtype that an op read them in.
std::map<std::string, DtypeSet> trained_parameters(const Run& run);
bool has_autocast(const Run& run);
bool is_refusal(const Run& run, const Finding& finding);
// Numbers were rounded at two places, and what was said of the one is said of the other now.
bool has_further_cause(const Finding& goal, const Finding& left);
// What rounded the numbers of the finding is read as before, in the same dtypes: one that is gone
// was not looked at again. Weights round all that is computed, and say nothing of this place.
bool is_read_as_before(const Run& before, const Finding& goal, const Run& now);
// The op to which integers go that are no longer cast, and that promotes them to the same dtype:
// stack() of them and of Float. nullptr: there is none.
const OpCall* promoted_again(const Run& before, const Finding& goal, const Run& now);
// A change above a line moves it.
bool is_near(const SourceLine& a, const SourceLine& b);

class Judge {
 public:
  // `run_again` repeats the repair run, rounded a little differently, to see how far off what the
  // program prints is for that alone.
  explicit Judge(std::function<Trial()> run_again) : run_again_(std::move(run_again)) {}

  // What all runs with unpatched sources had: a patched one may have it as well.
  void remember(const Trial& trial);
  // What changed runs are held against: numbers where it did not die, its steps where it was
  // ended.
  void compare_with(std::shared_ptr<const Trial> repair_run);
  // How far a changed run has to come; nothing: to its end.
  std::optional<Progress> enough() const { return enough_; }
  const std::map<std::string, DtypeSet>& trained() const { return trained_; }

  // An unpatched run trained weights in the dtype of those that do not move.
  bool has_trained_in(const Run& run, const Finding& finding) const;

  // A run without a change has it as well.
  bool knew(const Finding& finding) const;
  // A NaN that no op made, which all runs were given.
  bool came_with_data(const Run& run, const Finding& finding) const;
  // The goal was an error for what came of it, and costs time alone now.
  static bool leaves_cause(const Node& node, const Finding& goal, const Node& next);
  // What is there again, or still, of the finding of the node; null where nothing is.
  static const Finding* left_of(const Node& node, const Finding& goal, const Node& next);
  // `next` is the node with the change.
  Judgement judge(const Node& node, const Finding& goal, const Node& next, bool is_setting);

 private:
  bool was_reached(const Run& run, const Finding& finding) const;
  bool is_as_it_was(const Run& run, const Finding& finding) const;
  bool was_not_looked_at(const Run& run, const Finding& finding) const;
  bool stood_still_before(const Run& run, const Finding& finding) const;
  std::optional<Judgement> judge_numbers(const Trial& trial, std::string& compared);
  double spread();

  std::function<Trial()> run_again_;
  std::shared_ptr<const Trial> repaired_;
  bool is_without_numbers_ = false;  // the repair run died, or overflowed
  bool loses_loss_ = false;          // an unpatched run's loss was NaN or infinite
  std::optional<Progress> enough_;   // of a program that the repair run saw no end of
  std::optional<double> spread_;  // of what it prints, by rounding alone; asked where a try differs
  std::set<std::string> known_, reached_, made_, looked_;
  std::map<std::string, DtypeSet> trained_;
};

}  // namespace dtypecheck::cures
