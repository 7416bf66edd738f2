// clang-format off
// text.h: the text form of a trace, which rule examples and tests are written in and
// `dtypecheck dump` prints.
//
//   # a comment
//   values-checked
//   process [pid=1] [parent_pid=1] [rank=0] [host=…] [file=…] [command="…"] [executable=…]
//           [libtorch=2.11.0] [python=3.11.7] [devices=cpu,cuda|none] [started=NANOSECONDS]
//           [ended=NANOSECONDS] [events=100] [steps=3] [steps_traced=3] [signatures_lost=0]
//           [end=exited|running|replaced] [damaged="text"] [fact:NAME="value"]…
//   op NAME[.OVERLOAD] [ARG=OPERANDS]… [ARG:=NUMBER|DTYPE]… [-> OPERANDS] [KEY VALUE]…
//   time #7 THREAD STEP BEGIN NANOSECONDS          when one call of that op began, in nanoseconds
//                                                  since 1970, and how long it took
//   gpu-time #7|none KIND DEVICE STREAM BEGIN NANOSECONDS ["name"]
//   health #7|none activations|gradients|weights|states DTYPE MODULE|"" [STEP LARGEST ZERO BEYOND]…
//   health-step STEP SKIPPED LEFT-OUT SCALE
//
//   NAME      aten::addmm, python::GradScaler._unscale_grads_, compiled::forward; a python:: or
//             compiled:: name may have dots, and then has no overload
//   OPERANDS  one operand, or several joined by "," without a space for a list argument (named
//             tensors[0], tensors[1] …; a list of one ends in ","); operands of the result have no
//             name
//   OPERAND   DTYPE[shape][suffixes], or "none" for no dtype: an undefined tensor where no other
//             kind is given
//   DTYPE     Half, or Half|Float for a set
//   shape     [2,320], [] for 0-d; left out: not known
//   suffixes  @cuda:0 device (cpu when left out)   %unet.conv_in.weight parameter name
//             <#7 origin: op call id   !out written   ^ requires grad   ^^ leaf that requires grad
//             $ wrapped number   ~sparse kind other than dense   :weight role (default: weight for
//             an argument named weight, bias for bias, out for out, state for running_*, state*,
//             *exp_avg* and *_step*, else input)
//   KEY VALUE in any order, each at most once, after the operands and results:
//     raised "message" [TYPE]         the call threw (with repaired: what it would have thrown)
//     at FILE:LINE [FUNCTION]         the user's line
//     inside FILE:LINE [FUNCTION]     the innermost line; the user's when left out
//     caller FILE:LINE [FUNCTION]     of Python, that called the extension or model with the line
//     in MODULE [(CLASS)]
//     phase load|forward|backward|optimizer|data
//     step N | step N-M               first and last; 0 when left out
//     count N                         1 when left out
//     throws N                        left out: all of them for a call that threw, else 0
//     by FIRST[-LAST]xLEAST[-MOST][,…]  in a merged run: processes, and how often each called it
//     group RANKS                     of a collective: its process group, 0-2,5
//     autocast cpu:BFloat16[,cuda:Half] [wrapper] [inner]   "off" in place of the devices for none
//     entered FILE:LINE [FUNCTION]    where the innermost autocast region was entered
//     id #7  parent #6  follows #2    left out: the number of the op line, from 1; none; none
//     non-finite nan|inf [clean|infinite] [loss] [STEP ORDER] …   the first of each; "clean": all
//             operands were finite, "infinite": none had NaN; "loss": backward() was called on it
//     inexact FROM TO [loss|read|kept|lost OFF [#7]]  and what came of it: how far off, at which op
//     repaired | served | compiled
//     cast ELEMENTS TIMED NANOSECONDS  what a cast moved in all; how many calls took how long
//     gpu KIND DEVICE COUNT NANOSECONDS BYTES ["name"] [, …]   kernel, copy or fill
//
// An op belongs to the last process line before it (one that exited is made up when there is none).
// What a process line leaves out is empty or 0, but for end (exited), steps_traced (all steps) and
// devices (those of its operands and results). An id that is given is a label: Run::calls is in the
// order of the lines and its ids are 1, 2, … there. Origins and parents may name a later op.
//
// NAMEs, FILEs and other words may stand in quotes, and have to when they hold a space, a quote or
// a character of the grammar, or when a function or type is called like a KEY: at train.py:3
// "step". Quotes escape \" \\ \n and \xHH. A line that ends in \ goes on in the next. Every dump of
// a run that a reader made reads back as the same run.
// clang-format on
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

// A line "# EXPECT FILE:LINE: severity: message [rule]": what a test case wants found. The message
// may be a part of the whole; "-" in place of FILE:LINE is a finding about the whole run.
// "# EXPECT-WHY text", "# EXPECT-FIX text" and "# EXPECT-ODD operand" ask for more of the finding
// expected last.
struct Expectation {
  int text_line = 0;
  std::string file;
  int line = 0;
  std::string severity;
  std::string message;
  std::string rule;
  std::string why;
  std::string fix;
  std::string odd_operand;
  std::vector<std::string> cures;  // each stands in one of the finding's cures
};

struct TraceText {
  Run run;
  std::vector<Expectation> expectations;
};

// Throws InputError: `case.trace:3: expected a dtype (Half, float16), got "Hlaf"`.
TraceText parse_trace_text(std::string_view text, const std::string& name);

std::string to_text(const Run& run);
std::string to_text(const OpCall& call);  // one line, without its newline

}  // namespace dtypecheck
