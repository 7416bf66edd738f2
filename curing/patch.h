// patch.h: the change to a source that a cure is, made by the program's own Python.
#pragma once

#include <string>
#include <vector>

#include "core/cure.h"
#include "core/run.h"
#include "trace/sources.h"

namespace dtypecheck::curing {

// How to run the program.
struct Program {
  std::vector<std::string> command;
  std::string folder;  // where it is run
};

struct Patch {
  std::string file;    // absolute
  std::string text;    // all of the changed source; empty: it could not be placed surely …
  std::string diff;    // unified
  std::string reason;  // … and why

  bool is_placed() const { return reason.empty(); }
};

// Where the source is no longer what ran, is no Python, or has no sure place for the change, the
// patch has a reason and no text. A cell is changed in the notebook that the program's command
// names. Writes nothing.
Patch make_patch(const Cure& cure, const Run& run, const Sources& sources, const Program& program);

// Writes the text over the file, of which a copy stays behind as FILE.before-cure, with a number
// where there is one. Returns the copy's path. Throws InputError.
std::string apply(const Patch& patch);

}  // namespace dtypecheck::curing
