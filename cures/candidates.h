// candidates.h: the changes that may cure a finding, in the order in which a maintainer would want
// them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cures/settings.h"
#include "cures/tries.h"

namespace dtypecheck::cures {

// Cures that go into one patch, each of a finding; or a setting.
struct Candidate {
  std::vector<Part> parts = {};
  const Setting* setting = nullptr;
  int rank = 0;                  // of the kind of change
  int place = 0;                 // Merit::place
  bool overrides = false;        // Merit::overrides
  bool gives_up = false;         // a setting in Float, of a program that computes in 16 bits
  bool in_double = false;        // weights in Double, of a model that has none
  std::vector<Patch> ways = {};  // at least one; the first may say why there is none

  // Not of a finding that follows from it.
  bool is_of(const Finding& goal) const { return parts.empty() || parts.front().first == &goal; }
};

// Kinds of change in their order. What was begun well is gone on with before a kind of change from
// kLater on.
constexpr int kLater = 3;

class Candidates {
 public:
  // `recorded` are the findings of the recorded run, whose `fix` reports show; `trained` the
  // parameters that were trained in any run so far.
  Candidates(const Run& recorded_run, const std::vector<Finding>& recorded,
             const std::vector<Setting>& settings, const std::map<std::string, DtypeSet>& trained)
      : recorded_run_(recorded_run), recorded_(recorded), settings_(settings), trained_(trained) {}

  // Each cure of the goal and of what follows from it. One that acts where an op is called goes to
  // all calls that are refused alike.
  std::vector<Candidate> for_finding(const Node& node, const Finding& goal) const;
  // The merit that a run of the way has at best.
  static Merit best_merit(const Node& node, const Candidate& candidate, const Patch& way);

 private:
  int rank_of(const Node& node, const Finding& goal, const Candidate& candidate) const;
  bool is_harmful(const Run& run, const Cure& cure) const;
  bool trains_in_float() const;
  void add_settings(const Node& node, std::vector<Candidate>& all) const;
  void prefer_command_line(std::vector<Candidate>& all) const;
  std::string shown_first(const Node& node, const Finding& goal) const;

  const Run& recorded_run_;
  const std::vector<Finding>& recorded_;
  const std::vector<Setting>& settings_;
  const std::map<std::string, DtypeSet>& trained_;
};

bool raises_parameters(const Cure& cure);
// Autocast around the call of the model that a run trains in Float now, so that what ran in 16 bits
// goes on to; nothing where a region is open already, or no line of the program calls it.
std::optional<Cure> autocast_for_raised(const Run& run);
// The finding of the recorded run that this one of another run is; nullptr where none is.
const Finding* recorded_alike(const std::vector<Finding>& recorded, const Finding& finding);

}  // namespace dtypecheck::cures
