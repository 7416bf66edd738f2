// recorded_run.h: what a user names (run folders, trace files, text traces) as one Run, with what
// could not be read.
#pragma once

#include <string>
#include <vector>

#include "core/run.h"
#include "trace/sources.h"

namespace dtypecheck::judging {

struct RecordedRun {
  Run run;
  Sources sources;                    // of the folders and merged traces
  std::vector<std::string> left_out;  // unreadable files, processes that were not traced
};

// The *.dtrace files of a folder, sorted by name.
std::vector<std::string> traces_of_folder(const std::string& folder);

// Folders, *.dtrace files and *.trace text files. With something unreadable beside something
// readable the rest is read. Throws InputError when nothing could be.
RecordedRun read_recorded_run(const std::vector<std::string>& inputs);
// One input, which may be one process of many on purpose: its other ranks are not missed.
RecordedRun read_one_input(const std::string& input);

// The same of the folder of a run that this machine made just now, where no trace at all is no
// error: the program may never have run an op. Ranks of other machines are not missed.
RecordedRun read_run_folder(const std::string& folder);

// "process 4711: no tracer for this LibTorch …": the lines of each untraced.<pid>.txt that stage 1
// left in the folder.
std::vector<std::string> untraced_notes(const std::string& folder);

// Appends with its ids moved behind those that are there.
void append_run(Run& into, Run&& more);

}  // namespace dtypecheck::judging
