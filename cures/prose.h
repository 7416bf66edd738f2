// prose.h: what is said of trials and findings, and what findings are to a search.
#pragma once

#include <string>

#include "cures/tries.h"

namespace dtypecheck::cures {

// Lines move when a source is changed, so ids do not serve. Another run measures another share of
// weights that did not move: a finding that was measured is called by its place.
std::string name_of(const Finding& finding);
std::string described(const Finding& finding);
bool loses_steps(const Finding& finding);  // what such a run prints is no reference
bool costs_only(const Finding& finding);

std::string how_far(const Trial& trial);     // "3 steps to its end"
std::string left_words(const Trial& trial);  // "no errors, no warnings"

}  // namespace dtypecheck::cures
