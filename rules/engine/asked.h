// asked.h: finds what asked for a dtype: the frames that held a value when the line that made the
// dtype ran, the command line, environment variables, the program's own lines. A value counts only
// if a frame held it; then the place where it is written is looked for. A configuration or an
// option that says something else is not named.
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
  bool is_command_line = false;
  bool is_left_out = false;  // a call that has a dtype by itself where it is given none
};

// Of a 16-bit operand of the call. Nothing where the run does not show it.
std::optional<Asked> who_asked(const RunIndex& index, const JudgeOptions& options,
                               const OpCall& reader, const Operand& operand);

std::string asked_text(const Asked& asked);  // "--precision 16-true (train.py's command line)"

}  // namespace dtypecheck::rules
