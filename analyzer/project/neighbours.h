// neighbours.h: the files of a project that are parsed beside those that a run is about.
#pragma once

#include <string>
#include <vector>

#include "analyzer/facts.h"
#include "analyzer/project/calls.h"

namespace dtypecheck::analyzer {

// The sources around these, in their project, that tell of one of the functions: twelve at most,
// those that name most of them first, and of these the nearest. Where a body is looked for, one
// that only calls it as well tells nothing, unless it may cast a model, or names what the first
// `judged` of these define. One that includes a header of its own where these have another of that
// name, which declares what they call, is of another program.
std::vector<std::string> sources_that_tell_of(const UnseenFunctions& functions,
                                              const std::vector<SourceFacts>& all, size_t judged);

}  // namespace dtypecheck::analyzer
