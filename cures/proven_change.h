// proven_change.h: the change that `dtypecheck cure` found for a run, kept in the run's folder as
// cure.json, so that reports of the run show it, and it can be applied and taken back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/finding.h"

namespace dtypecheck::cures {

struct ProvenChange {
  struct Part {
    std::string text;     // "cast the target of mse_loss to Half, train.py:40"
    std::string cures;    // the message of the finding that it cures
    std::string finding;  // its id; "" where the recorded run had not got so far
  };
  struct File {
    std::string file;  // absolute
    std::string hash;  // FNV-1a of the file before the change, 16 hexadecimal digits
    std::string text;  // all of it, with the change
    std::string copy;  // of the file as it was, once the change is applied; else ""
  };
  std::string verdict;  // "proven" or "cures this"
  std::string words;    // "3 steps to its end, no errors, no warnings"
  std::string diff;     // unified, of all files
  std::string prompt;   // the command to type in place of the one that ran; "" where that stays
  std::vector<Part> parts;
  std::vector<File> files;

  bool is_applied() const;
};

// Nothing where the folder has none. Throws InputError where it is no such file.
std::optional<ProvenChange> read_proven_change(const std::string& run_folder);
// Throws OutputError.
void write_proven_change(const std::string& run_folder, const ProvenChange& change);

// Writes the texts over the files; of each a copy stays behind as FILE.before-cure, whose name goes
// into the change. Throws InputError before anything is changed: where a file is no longer what was
// tried, or no copy can be made.
void apply(ProvenChange& change);
// Puts the copies back. Throws InputError where a file is no longer what was written.
void undo(ProvenChange& change);

// The change becomes the `fix` of the findings that it cures.
void report_proven_change(const ProvenChange& change, std::vector<Finding>& findings);

}  // namespace dtypecheck::cures
