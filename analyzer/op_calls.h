// op_calls.h: op calls of analysed source, judged by the rules that judge those of a run.
#pragma once

#include <string>
#include <vector>

#include "analyzer/facts.h"
#include "core/finding.h"
#include "core/line_text.h"
#include "core/run.h"

namespace dtypecheck::analyzer {

// What the rules say of the ops, each at its place. `libtorch` is the version that is asked for
// what it accepts; one that was not measured is taken for the newest that was. The calls are added
// to `run`, which the findings speak of.
std::vector<Finding> judge_ops(const std::vector<SourceFacts>& files, const std::string& libtorch,
                               const LineText& line_text, Run& run);

}  // namespace dtypecheck::analyzer
