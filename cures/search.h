// search.h: looks for a change of the program that cures what a run found, by running it.
//
// A run that died shows the first of the lines that are wrong. So the program runs once with
// refused calls repaired (`trace --keep-going`), which shows all of them; a change then goes to
// each line that is wrong in the same way. It is tried to the program's own end. Where it dies of
// another dtype further on, the findings of that try are cured on top of it, until the program
// runs, or nothing that is known cures it. Behind the first proof the search goes on for a few
// runs, until a change is proven that a maintainer would keep as it is.
//
//   recorded run ──▶ repair run ──▶ change A at 3 lines ──▶ try: dies in the evaluation
//                        │                 └─ and change B ──▶ try: ends; proven, but in Float
//                        └────────▶ change C ──▶ try: ends; proven; chosen
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "cures/patch.h"
#include "cures/tries.h"

namespace dtypecheck::cures {

struct SearchOptions {
  double timeout_s = 600;  // of one run of the program
  int tries = 12;          // at most so many
  // Called with what to show a user who waits.
  std::function<void(const std::string& what)> progress = nullptr;
};

struct Search {
  std::vector<Try> tries;   // in their order
  int runs = 0;             // of the program, the repair run among them
  std::string repair;       // what the repair run showed: "ended after 3 steps, 4 lines repaired"
  std::string writes_stay;  // why what the program wrote was not kept apart; "" where it was
  std::string impossible;   // why nothing can be tried; "" where something can
  bool is_interrupted = false;

  const Try* chosen() const;      // of those proven the one with the most merit; nullptr: none is
  const Try* workaround() const;  // the same of those that are workarounds
  const Try* furthest() const;    // that cures something, the last; nullptr where none does
};

// `findings` are those of the run, as they are to be cured: accepted ones are not among them.
Search search(const judging::RecordedRun& recorded, const std::vector<Finding>& findings,
              const Program& program, const SearchOptions& options);

}  // namespace dtypecheck::cures
