// tries.h: what is tried and what came of it.
#pragma once

#include <memory>
#include <string>
#include <tuple>
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

// What decided it.
enum class Reason : uint8_t {
  kEnd,        // proven, and how far it got
  kFurther,    // another finding, behind the first or of another setting
  kSamePlace,  // another finding, of the same call
  kStill,      // the same finding
  kLowers,     // a trained parameter loses digits
  kWorse,      // a new finding
  kDies,       // of something else
  kNumbers,    // it prints another number
  kMode,       // it breaks the program's other mode
  kNoPlace,    // there is no edit
  kNoRun,      // nothing ran, or not far enough
};

struct Judgement {
  Verdict verdict = Verdict::kNotTried;
  Reason reason = Reason::kNoPlace;
  std::string words;  // "3 steps to the end, no findings"; not yet printable
};

// What a maintainer would hold against a change, in the order in which changes are compared.
struct Merit {
  bool stops_steps = false;   // weights do not move, in a dtype that they did not have before
  bool loses_steps = false;   // weights still do not move
  double given_up = 0;        // share of what ran in 16 bits, in calls and bytes, and does no more
  bool in_double = false;     // layers have weights in Double, and had none before
  bool overrides = false;     // a dtype that a line asks for, or that was loaded
  int left = 0;               // warnings of harm that it leaves
  bool leaves_cause = false;  // a promotion that was to be cured still costs time
  bool promotes = false;      // what no run without a change promoted
  int dead = 0, doubled = 0;  // see Demerits
  int literals = 0;           // where a name in scope has the dtype
  int place = 0;              // at the use where only the origin is wrong, or the other way round
  int integers = 0;           // that may be cast with what is floating
  int in_libraries = 0;       // edits of what is installed
  int left_costs = 0;         // warnings of time and memory alone that it leaves
  bool is_setting = false;    // in place of an edit that the program can keep
  int edits = 0;

  bool is_workaround() const { return in_double || given_up > 0.25; }
  int tier() const { return is_workaround() + (in_double || given_up > 0.75); }  // a part, or all
  bool has_demerit() const;
  bool operator<(const Merit& other) const;  // better
};

// One change of a source or setting, and what it is for.
struct Change {
  std::string text;     // for people: "cast the target of mse_loss to Half, train.py:40"
  SourceLine where;     // the line; not known for a setting
  std::string cures;    // the message of the finding
  std::string finding;  // its id in the recorded run; "" where that run had not got so far
  int step = -1;        // of the patch's edits; -1: a setting
  Dtype dtype = Dtype::kUndefined;  // the wanted one
  int place = 0;                    // Merit::place
  bool overrides = false;           // Merit::overrides
};

// What was tried, with what came of it.
struct Try {
  std::vector<Change> changes;
  Patch patch;
  std::string prompt = {};  // the command to type in place of the one that ran; "": that one
  Judgement judged = {};
  Merit merit = {};
  std::shared_ptr<const Trial> trial = {};  // of what is proven

  bool is_proven() const { return judged.verdict == Verdict::kProven; }
};

// A run of the program with a patch, of which findings are to be cured.
struct Node {
  std::shared_ptr<const Trial> trial;
  Program program;
  std::string prompt = {};  // of the program, where a setting changed it
  Patch patch = {};
  std::vector<Change> changes = {};
  bool raises_model = false;  // one of the changes casts parameters to Float

  const Run& run() const { return trial->recorded.run; }
};

}  // namespace dtypecheck::cures
