// merge_facts.h: the facts of one file that was parsed more than once.
#pragma once

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// Adds what only the parse with a project's switches the other way has seen. Where that parse has
// understood less, its switches are not for this machine, and nothing of it is taken.
void add_facts_of_other_switches(SourceFacts& facts, SourceFacts other);

}  // namespace dtypecheck::analyzer
