// asked.h: who asked for a dtype, from the facts that the run shows: the frames that held a value
// when the line ran that made the dtype, the command line, variables of the environment, the
// program's own lines. A value counts where a frame held it; where it was written is then looked
// for, and nothing is said of a configuration or an option that says something else.
#pragma once

#include <optional>
#include <string>

#include "core/op_call.h"
#include "rules/engine/rule.h"

namespace dtypecheck::rules {

struct Asked {
  std::string what;     // "--precision 16-true", "model.half()"
  std::string where;    // "train.py's command line", "config.yaml:3", "train.py:40"
  std::string instead;  // "bf16-mixed"; "" where no framework is known to have a way
  SourceLine line;      // of `where`, where that is a line
};

// Of a 16-bit operand of the call. Nothing where the run does not show it.
std::optional<Asked> who_asked(const RunIndex& index, const JudgeOptions& options,
                               const OpCall& reader, const Operand& operand);

// The condition that the line stands below, "if args.fp16:"; "" where none is kept near it.
std::string question_above(const JudgeOptions& options, const SourceLine& line);

std::string asked_text(const Asked& asked);  // "--precision 16-true (train.py's command line)"

}  // namespace dtypecheck::rules
