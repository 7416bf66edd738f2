// joined.h: which sources of a run are read as one.
#pragma once

#include <string>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// A module is declared in a header, defined in one source, and made, cast and given its inputs in
// another. The walk follows calls into what stands in the file before it; so a file that nothing
// of the run calls, and that calls functions of modules defined elsewhere, is parsed once more,
// with the sources that define these, and what they call, before it.
struct Joined {
  size_t file;                       // in the facts of the run
  std::vector<std::string> sources;  // that define what it calls
  std::string text;                  // that includes these
};
// Of the first `judged` of them; the others are their neighbours.
std::vector<Joined> sources_to_join(const std::vector<SourceFacts>& all, size_t judged);

// Takes the ops that the file was seen to make with its sources; nothing where they do not fit
// together.
void take_joined(std::vector<SourceFacts>& all, const Joined& join, SourceFacts found);

}  // namespace dtypecheck::analyzer
