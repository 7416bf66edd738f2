// patch.h: the change to a source that a cure is, made by the program's own Python.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/cure.h"
#include "core/finding.h"
#include "core/run.h"
#include "trace/sources.h"

namespace dtypecheck::cures {

// How to run the program.
struct Program {
  std::vector<std::string> command;
  std::string folder;                                   // where it is run
  std::vector<std::string> under = {};                  // of trace/run_folder.h
  std::map<std::string, std::string> environment = {};  // beside that of this process
  std::string build = {};   // of one in C++: a shell's command that builds it anew, in `folder`
  std::string python = {};  // that reads the sources; "": the one that ran, which its trace names
};

// Why a program in C++ is not tried whose build is not known.
inline constexpr const char* kNotBuilt =
    "the program is in C++: say how it is built, as in --build 'cmake --build build'";

// What a maintainer would not keep, as far as the source shows it (cures/demerits.py counts).
struct Demerits {
  int dead = 0;       // names and options whose value nothing reads any more
  int doubled = 0;    // casts behind a cast
  int literals = 0;   // dtypes written down
  int integers = 0;   // casts of all that a dict holds
  int avoidable = 0;  // of the literals: the same change can be written without, or they are 16
                      // bits in a file that wrote none down

  Demerits& operator+=(const Demerits& other);
};

struct Patch {
  std::vector<SourceEdit> edits;    // of the files as they are
  std::map<int, Demerits> by_step;  // of the edits of each
  std::string words;                // what it does, where that is another thing than the cure says
  std::string reason;               // why there is none
  bool was_sought = false;          // in the source, which is still what ran

  bool is_placed() const { return reason.empty(); }
  int last_step() const { return by_step.empty() ? -1 : by_step.rbegin()->first; }
  Demerits demerits() const;
};

// The text of each file with the patch. Throws InputError where a file has changed.
std::map<std::string, std::string> texts_of(const Patch& patch);
// Unified, for eyes; of files that are read from elsewhere where `copies` says so.
std::string diff_of(const std::vector<SourceEdit>& edits,
                    const std::map<std::string, std::string>& copies = {});

// A change at a cure's place, for a finding.
using Part = std::pair<const Finding*, const Cure*>;

// For each of several lists of cures one patch of all in the list, in one file or more, in each
// form that it can be written in, the most maintainable first: with the script's own name for the
// dtype, with the dtype of the other operand, with a constant. At least one. An edit that two cures
// ask for is made once. If the source is no longer what ran, is not Python, has no certain place
// for a change, or two changes overlap, the patch has a reason and no edits. A cell is changed in
// the notebook that the program's command names. Where the run was one with a patch, `base`, the
// change comes on top of it, as its next step. Writes nothing.
std::vector<std::vector<Patch>> make_patches(const std::vector<std::vector<Part>>& lists,
                                             const Run& run, const Sources& sources,
                                             const Program& program, const Patch& base = {},
                                             bool counts_demerits = true);

// The patch without the edits of one step, for each step that changed a source, in their order;
// none where fewer than two did. An import stays where something else of the file changes.
std::vector<std::pair<int, Patch>> shorter_patches(const Patch& patch);

}  // namespace dtypecheck::cures
