// run_folder.h: the folder that one traced run writes into: a trace file a process, notes on what
// was not traced, and run.json.
//
//   dtypecheck-runs/20250131-142233-4711/     mode 0700
//     run.json                                what was run, from when to when, how it ended
//     sources.json                            the lines that its op calls were made from
//     <host>.<pid>….dtrace                    trace/format.h
//     untraced.<pid>.txt                      why a process was not traced
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/whole_run.h"
#include "platform/child.h"

namespace dtypecheck {

class RunFolder {
 public:
  // Makes `path` (empty: dtypecheck-runs/<date>-<time>-<pid>) and starts its run.json. Throws
  // InputError when it cannot be made or written, holds something else, or holds an earlier run.
  // `under`: see RunDescription. `goes_on`: the program may be a run that was resumed, in the
  // folder of the same program's earlier run.
  static RunFolder create(const std::string& path, const std::vector<std::string>& command,
                          const std::vector<std::string>& under = {}, bool goes_on = false);
  // The same of a program that is already running, in that folder: one process, whose other ranks
  // are not missed.
  static RunFolder attach(const std::string& path, const std::vector<std::string>& command,
                          const std::string& program_folder);

  const std::string& path() const { return path_; }              // absolute
  const std::string& shown_path() const { return shown_path_; }  // as the user would type it
  void note_end(const ChildEnd& end);

 private:
  void write_description(const ChildEnd* end) const;

  std::string path_, shown_path_, start_;
  std::string program_folder_;  // of a program that ran already; else empty
  std::vector<std::string> command_, under_;
};

// How the program of a run was started.
struct RunDescription {
  std::vector<std::string> command;
  std::string folder;  // where it was started
  // The command of this tool that started it, and its options, where it was not `trace`:
  // "preflight", "--gpu", "a100".
  std::vector<std::string> under = {};
};
// Of its run.json. Throws InputError when there is none, or it cannot be read.
RunDescription read_run_description(const std::string& folder);

// How the process that was started ended; nothing where the folder does not say so.
struct EndedProcess {
  int64_t pid = 0;
  int signal = 0;  // 0: it ended by itself
};
std::optional<EndedProcess> ended_process_of(const std::string& folder);

// What its run.json says should be there; nothing where there is none, or it says nothing.
ExpectedRun expected_of(const std::string& folder);

// The folder in ./dtypecheck-runs that was started last. Throws InputError when there is none.
std::string newest_run_folder();

}  // namespace dtypecheck
