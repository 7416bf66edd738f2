// op_call_json.h: an op call as one line of JSON, for programs.
#pragma once

#include <string>

#include "core/run.h"

namespace dtypecheck::cli {

// Fields that say nothing (no error, no parent, count 1 …) are left out, beside id, op, operands,
// results, outcome, count and process, which are always there. Ids and processes count over the
// whole run.
std::string op_call_json(const OpCall& call, const Run& run);

}  // namespace dtypecheck::cli
