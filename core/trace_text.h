// trace_text.h: the text form of a trace, which rule examples and tests are written in and `dtypecheck dump` prints.
//
//   # a comment
//   process [pid=1] [rank=0] [libtorch=2.11.0] [python=3.11.7] [steps=3] [events=100] [end=exited|running|replaced]
//           [damaged="text"] [fact:NAME="value"]…
//   op NAME[.OVERLOAD] [ARG=OPERANDS]… [ARG:=NUMBER|DTYPE]… [-> OPERANDS] [KEY VALUE]…
//
//   NAME      aten::addmm, python::GradScaler._unscale_grads_, compiled::forward
//   OPERANDS  one operand, or several joined by "," for a list argument (named tensors[0], tensors[1] …; a list of one
//             ends in ","); operands of the result have no name
//   OPERAND   DTYPE[shape][suffixes] or "none" for an undefined tensor
//   DTYPE     Half, or Half|Float for a set
//   shape     [2,320], [] for 0-d; left out: not known
//   suffixes  @cuda:0 device (cpu when left out)   %unet.conv_in.weight parameter name   <#7 origin: op call id
//             !out written   ^ requires grad   ^^ leaf that requires grad   $ wrapped number   ~sparse kind other than dense
//             :weight role (default: weight for an argument named weight, bias for bias, state for running_* exp_avg* state*
//             *_step* max_exp_avg*, out for out, else input)
//   KEY VALUE in any order:
//     raised "message" [TYPE]         the call threw
//     at FILE:LINE [FUNCTION]         the user's line              inside FILE:LINE [FUNCTION]  the innermost line
//     in MODULE [(CLASS)]             phase load|forward|backward|optimizer|data
//     step N | step N-M               first and last               count N, throws N
//     autocast cpu:BFloat16[,cuda:Half] [wrapper|inner]
//     id #7  parent #6                ids are 1, 2, … in order when left out
//     non-finite nan|inf [clean]      "clean": no operand was non-finite
//     inexact FROM TO                 repaired | fixed | compiled
//
// An op belongs to the last process line before it (one is made up when there is none).
// Strings in quotes escape \" \\ \n and \xHH. Every dump reads back as the same run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

// A line "# EXPECT FILE:LINE: severity: message [rule]": what a test case wants found. The message may be a part of the
// whole. "# EXPECT-FIX text" and "# EXPECT-ODD operand" ask for more of the finding expected last.
struct Expectation {
  int text_line = 0;
  std::string file;
  int line = 0;
  std::string severity;
  std::string message;
  std::string rule;
  std::string fix;
  std::string odd_operand;
};

struct TraceText {
  Run run;
  std::vector<Expectation> expectations;
};

// Throws InputError that names `name` and the line.
TraceText parse_trace_text(std::string_view text, const std::string& name);

std::string to_text(const Run& run);
std::string to_text(const OpCall& call);  // one line, without its newline

}  // namespace dtypecheck
