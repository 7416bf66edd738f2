// fields.h: what the files of a project say of one another's fields.
#pragma once

#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// A field that is only written where the run sees it has one of the dtypes that are written to it
// anywhere. What nobody can see leaves it as it was: a reference to it that is handed out, a method
// whose body is not given, a file that was not understood whole; and where who includes its header
// may write it, a source of the project that is not in the run.
void join_fields(std::vector<SourceFacts>& all);

}  // namespace dtypecheck::analyzer
