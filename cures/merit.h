// merit.h: what a change costs: as far as its source shows before it ran, and by its run.
#pragma once

#include <set>
#include <string>

#include "cures/tries.h"
#include "cures/verdict.h"

namespace dtypecheck::cures {

// How much of a run is in 16 bits: of its products of floating tensors, or of all its ops where it
// has none, and of the bytes of these. What an optimizer does is not counted, and not
// the backward pass, whose dtypes are those of the forward.
struct LowShare {
  double calls = 0, bytes = 0;
  bool has_double = false;  // a product reads a weight in Double
  // Weights that are not counted: what is trained in 16 bits beside a frozen model in 16 bits that
  // is larger. What is stepped is Float by right.
  std::set<std::string> adapters;
  double at_line = 0;  // what the line has of all in 16 bits, the mean of its part of both
};
std::set<std::string> adapters_of(const Run& run);
// All weights of the model that the odd operand of the finding is one of.
std::set<std::string> weights_beside(const Run& run, const Finding& finding);
LowShare low_share(const Run& run, const std::set<std::string>& adapters = {},
                   const SourceLine& line = {});

// No run of the patch is better than this.
Merit merit_of_source(const Patch& patch, bool is_setting, const std::vector<Change>& changes);
inline Merit merit_of_source(const Node& node) {
  return merit_of_source(node.patch, !node.prompt.empty(), node.changes);
}
// A warning in a program that an op refused or whose loss is lost, which takes a change of its own:
// of the rest, 16-bit weights that stand still are part of that unless the command line asks for
// them.
bool is_beside(const Finding& finding, bool was_error);
// Of a run that is proven; `before` is the share of the run without a change, and of the line that
// 16 bits are too few for, which has to give them up.
void add_run(Merit& merit, const Trial& trial, const LowShare& before, const Judge& judge,
             bool was_error);

// What a maintainer should know of it, "an option that nothing reads any more"; "" for nothing.
std::string cost_words(const Merit& merit);

}  // namespace dtypecheck::cures
