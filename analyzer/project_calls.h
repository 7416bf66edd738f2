// project_calls.h: what the files of a project say of one another's functions.
#pragma once

#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// A function that no call in its own file leads to is judged by the calls in all other files: where
// each of them knows a tensor's dtype, or has checked it, so does the function; where one is bound
// to Python and passes on what it was given, the function is as good as bound. The facts of each
// file are kept as they are, so a change in one costs the parse of that one.
void join_calls(std::vector<SourceFacts>& all);

}  // namespace dtypecheck::analyzer
