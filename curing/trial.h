// trial.h: a program run once more with a changed source, until it is known what came of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "curing/patch.h"
#include "judging/recorded_run.h"

namespace dtypecheck::curing {

enum class Proof : uint8_t {
  kNotTried = 0,   // or it could not be: `words` says why
  kProven,         // the finding is gone, none is new, and the program did not end badly
  kOtherFindings,  // the finding is gone, and one of those that were there before ended the program
  kMoreBehind,     // the finding is gone, and behind where the program had died there is a warning
  kStillThere,     // the same finding again
  kNewFinding,
  kDied,
  kNotFinite,
  kNoEnd,  // nothing was known when the time was over
};
const char* proof_name(Proof proof);  // "proven", "still there", …

struct Trial {
  Proof proof = Proof::kNotTried;
  std::string words;  // "3 steps, no findings"; not yet printable
};

struct TrialOptions {
  double timeout_s = 600;
  // Told now and then, for a line that shows that something is going on.
  std::function<void(const std::string& what)> progress = nullptr;
};

// `before` are the findings of the run `recorded`, of which `cured` is one. The program runs under
// the tracer, value checks on, with the patch in place of its file, until a step behind the one
// where the finding was is done, or it ends; then it is ended, by force if need be. The user's
// files and compiled Python stay as they are, and what the program writes it writes as ever.
Trial try_patch(const Patch& patch, const Program& program, const std::vector<Finding>& before,
                const Run& recorded, const Finding& cured, const TrialOptions& options);

}  // namespace dtypecheck::curing
