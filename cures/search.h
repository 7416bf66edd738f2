// search.h: looks for a change of the program that cures what a run found, by running it.
//
// A run that died shows the first of the lines that are wrong. So the program runs once with
// refused calls repaired (`trace --keep-going`), which shows all of them; a change then goes to
// each line that is wrong in the same way. It is tried to the program's own end. Where it dies of
// another dtype further on, the findings of that try are cured on top of it, until the program
// runs, or nothing that is known cures it.
//
//   recorded run ──▶ repair run ──▶ change A at 3 lines ──▶ try: dies in the evaluation
//                        │                 └─ and change B ──▶ try: ends; proven
//                        └────────▶ change C …
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "cures/patch.h"
#include "cures/trial.h"

namespace dtypecheck::cures {

enum class Verdict : uint8_t {
  kProven,    // the program ended well, without the finding, and nothing new was found
  kCures,     // the finding is gone; something else, which `words` names, is left
  kRefuted,   // it is still there, or something is worse
  kNotTried,  // no change could be made, or the program could not be run
};
const char* verdict_name(Verdict verdict);  // "proven", "cures this", "refuted", "not tried"

// One change of a source or setting, and what it is for.
struct Change {
  std::string text;     // for people: "cast the target of mse_loss to Half, train.py:40"
  SourceLine where;     // the line; not known for a setting
  std::string cures;    // the message of the finding
  std::string finding;  // its id in the recorded run; "" where that run had not got so far
};

// What was tried, with what came of it.
struct Try {
  std::vector<Change> changes;
  Patch patch;
  std::string prompt;  // the command to type in place of the one that ran; "" where that stays
  Verdict verdict = Verdict::kNotTried;
  std::string words;         // "3 steps to the end, no findings"; not yet printable
  bool loses_steps = false;  // proven, but weights still do not move, which is a finding of its own
};

struct SearchOptions {
  double timeout_s = 600;  // of one run of the program
  int tries = 12;          // at most so many
  // Called with what to show a user who waits.
  std::function<void(const std::string& what)> progress = nullptr;
};

struct Search {
  std::vector<Try> tries;   // in their order
  std::string repair;       // what the repair run showed: "ended after 3 steps, 4 lines repaired"
  std::string writes_stay;  // why what the program wrote was not kept apart; "" where it was
  bool is_interrupted = false;

  // The proven one, where several are one that loses no steps; else the best that cures something;
  // nullptr where nothing does.
  const Try* best() const;
};

// `findings` are those of the run, as they are to be cured: accepted ones are not among them.
Search search(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
              const Program& program, const SearchOptions& options);

}  // namespace dtypecheck::cures
