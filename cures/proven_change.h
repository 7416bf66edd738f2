// proven_change.h: the change that `dtypecheck cure` found for a run, kept in the run's folder as
// cure.json, so that reports of the run show it, and it can be applied and taken back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "cures/tries.h"
#include "trace/run_folder.h"

namespace dtypecheck::cures {

struct ProvenChange {
  struct Step {
    std::string text;     // "cast the target of mse_loss to Half, train.py:40"
    std::string cures;    // the message of the finding that it cures
    std::string finding;  // its id; "" where the recorded run had not got so far
  };
  struct File {
    std::string file;  // absolute
    std::string hash;  // FNV-1a of the file before the change, 16 hexadecimal digits
    std::string copy;  // of the file as it was, once the change is applied; else ""
  };
  std::string verdict;  // "proven"; anything else is not shown and not applied
  std::string words;    // "3 steps to its end, no errors, no warnings"
  std::string prompt;   // the command to type in place of the one that ran; "" where that stays
  bool is_workaround = false;
  std::vector<Step> parts;
  std::vector<File> files;
  std::vector<SourceEdit> edits;  // of these

  bool is_proven() const;
  bool is_applied() const;
};

ProvenChange kept(const Try& tried);

// Nothing where the folder has none. Throws InputError where it is no such file.
std::optional<ProvenChange> read_proven_change(const std::string& run_folder);
// Throws OutputError.
void write_proven_change(const std::string& run_folder, const ProvenChange& change);

// A run's folder may come from somebody else, and say anything. Throws InputError where the change
// is not proven, changes what the program's folders do not have, or takes a copy from elsewhere.
void require_own(const ProvenChange& change, const RunDescription& ran);
// What is written, as a diff of the files as they are. Throws InputError where a file is no longer
// what was tried, or is changed already.
std::string what_is_written(const ProvenChange& change);
// Makes the edits; of each file a copy stays behind as FILE.before-cure, whose name goes into the
// change. Throws InputError before anything is changed: where what_is_written() does, or no copy
// can be made.
void apply(ProvenChange& change);
// Puts the copies back. Throws InputError where a file is no longer what was written.
void undo(ProvenChange& change);

// A proven change becomes the `fix` of the findings that it cures.
void report_proven_change(const ProvenChange& change, std::vector<Finding>& findings);

}  // namespace dtypecheck::cures
