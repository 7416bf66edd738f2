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

struct ChangedFile {
  std::string file;  // absolute
  std::string text;  // all of it, with the change
};

struct Patch {
  std::vector<ChangedFile> files;
  std::string diff;    // unified, of all files
  std::string reason;  // why there is none

  bool is_placed() const { return reason.empty(); }
};

// One patch of several cures, in one file or more. An edit that two of them ask for is made once.
// Where the source is no longer what ran, is no Python, has no sure place for a change, or two
// changes overlap, the patch has a reason and no files. A cell is changed in the notebook that the
// program's command names. Writes nothing.
Patch make_patch(const std::vector<const Cure*>& cures, const Run& run, const Sources& sources,
                 const Program& program);

// Writes each text over its file, of which a copy stays behind as FILE.before-cure, with a number
// where there is one. Returns the copies' paths. Throws InputError, before anything is changed.
std::vector<std::string> apply(const Patch& patch);

}  // namespace dtypecheck::curing
