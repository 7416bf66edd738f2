// neighbours.h: the files of a project that are parsed beside those that a run is about.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// The sources around these, in their project, that name one of the functions: twelve at most, those
// that name most of them first, and of these the nearest. One that includes a header of its own
// where these have another of that name, which declares what they call, is of another program.
std::vector<std::string> sources_that_name(const std::set<std::string>& functions,
                                           const std::vector<SourceFacts>& all);

}  // namespace dtypecheck::analyzer
