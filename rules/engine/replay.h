// replay.h: judges cures on what the run recorded. Most cures that do not cure move the mismatch to
// the next op, and the run has the next op: the dtype is set where the cure acts and followed to
// the end. A cure fails where an op would refuse, where a rule would speak anew or as before, or
// where it can do no good: it writes into a copy, autocast is open there already.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rules/engine/changed_run.h"
#include "rules/engine/cure_places.h"
#include "rules/engine/read_ahead.h"
#include "rules/engine/spread.h"

namespace dtypecheck::rules {

class Replay {
 public:
  Replay(const RunIndex& index, const JudgeOptions& options);

  // Fills in the verdict and its reason.
  void judge(const Finding& finding, Cure& cure);
  // All cures of the findings, the best first: those that hold, then the unchecked, then those that
  // fail. `fix` is the text of the first; it is empty where all fail. Without cures it stays.
  void judge(std::vector<Finding>& findings);

 private:
  static void lend_cures(std::vector<Finding>& findings);
  // What a cure does to a run, whichever finding it is for.
  struct Effect {
    CureSeeds seeds;
    std::map<OpCallId, Fate> refused_before;  // of calls that were refused and are others now
    std::vector<OpCallId> refused, unknown;   // the innermost of those that are nested
    std::map<OpCallId, std::string> words;    // of `refused` and `unknown`
    std::map<std::string, Finding> after;     // what rules say, by key_of()
    std::set<std::string> doubtful;           // of these what a cast that is not seen may prevent
    std::string undone;                       // a cast that autocast takes back
  };
  using Family = std::set<OpCallId>;  // the calls that a finding is about
  struct Ruling {
    CureVerdict verdict;
    std::string reason;
  };

  const Effect& effect_of(const Finding& finding, const Cure& cure);
  Effect work_out(const Cure& cure, const std::string& odd);
  std::set<OpCallId> healed(const ChangedCalls& changed) const;
  std::string undone_by_autocast(const ChangedCalls& changed, const CureSeeds& seeds) const;
  bool may_be_cast_inside(const Cure& cure, const OpCall& changed) const;
  bool is_vague(const Cure& cure) const;
  bool may_cast(const OpCall& call) const;
  std::string refusal_words(const OpCall& changed) const;

  Ruling rule(const Finding& finding, const Cure& cure);
  Ruling rule_refusal(const Finding& finding, const Cure& cure, const Effect& effect,
                      const Family& family) const;
  Ruling rule_words(const Finding& finding, const Effect& effect);
  Family family_of(const Finding& finding) const;
  bool is_in(const Family& family, const OpCall& call) const;
  size_t consequences_left(const Finding& finding, const Cure& cure);
  bool leaves_cause(const Finding& finding, const Cure& cure);
  int ahead(const Finding& finding, const Cure& cure) const;
  bool ended_there(const Finding& finding) const;

  const RunIndex& index_;
  const Run& run_;
  CurePlaces places_;
  Spread spread_;
  ChangedRun rules_;
  ReadAhead ahead_;
  LineText line_text_;
  std::vector<OpCallId> refused_;    // calls that were refused when they were recorded
  std::vector<OpCallId> followers_;  // of these, repairs that follow another
  std::set<OpCallId> around_;        // these, and the calls around them
  std::map<std::string, Effect> effects_;
  std::map<std::string, std::string> keys_;  // of findings, by their ids
  size_t work_ = 0;                          // op calls looked at
};

}  // namespace dtypecheck::rules
