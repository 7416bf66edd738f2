// module_input.h: what the run tells of the arguments that a line calls a module with.
#pragma once

#include <nlohmann/json.hpp>

#include "core/cure.h"
#include "core/run.h"

namespace dtypecheck::cures {

// "results": [line, column, end line, end column, dtype] of each expression of the cure's file that
// always gave the same; "origins": [line, function] where what the module's ops refuse came in, the
// line 0 where that is another file.
void add_module_input(const Cure& cure, const Run& run, const OpCall& call,
                      nlohmann::json& question);

}  // namespace dtypecheck::cures
