// patch.h: the change to a source that a cure is, made by the program's own Python.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/cure.h"
#include "core/run.h"
#include "trace/sources.h"

namespace dtypecheck::cures {

// How to run the program.
struct Program {
  std::vector<std::string> command;
  std::string folder;                                   // where it is run
  std::vector<std::string> under = {};                  // of trace/run_folder.h
  std::map<std::string, std::string> environment = {};  // beside that of this process
};

struct ChangedFile {
  std::string file;  // absolute
  std::string text;  // all of it, with the change
  std::string hash;  // FNV-1a of the file as it is, 16 hexadecimal digits
};

struct Patch {
  std::vector<ChangedFile> files;
  std::string diff;    // unified, of all files
  std::string reason;  // why there is none

  bool is_placed() const { return reason.empty(); }
};

// One patch of several cures, in one file or more. An edit that two of them ask for is made once.
// If the source is no longer what ran, is not Python, has no certain place for a change, or two
// changes overlap, the patch has a reason and no files. A cell is changed in the notebook that the
// program's command names. Where the run was one with a patch, `base`, the change comes on top of
// it, and the diff has both. Writes nothing.
Patch make_patch(const std::vector<const Cure*>& cures, const Run& run, const Sources& sources,
                 const Program& program, const Patch& base = {});
// The same change in each form that it can be written in, the most maintainable first: with the
// script's own name for the dtype, with the dtype of the other operand, with a constant. At least
// one.
std::vector<Patch> make_patches(const std::vector<const Cure*>& cures, const Run& run,
                                const Sources& sources, const Program& program,
                                const Patch& base = {});

// A patch without what one of its steps changed, and the lines that are as they were there.
struct Shorter {
  Patch patch;
  std::vector<SourceLine> restored;
};
// One for each step that changed a source, in their order; none where fewer than two did, or a
// notebook is changed, or the program's Python cannot tell. `steps` are the patches that led to the
// last of them, each with what those before it changed. `run` is one of the program.
std::vector<Shorter> shorter_patches(const Patch& patch, const std::vector<Patch>& steps,
                                     const Run& run);

}  // namespace dtypecheck::cures
