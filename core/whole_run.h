// whole_run.h: compares what is expected of a run with what is there. No run may be called clean if
// a part of it is missing, so this is decided in one place: the processes that its folder lists,
// all ranks of its launch, and an end of each. The reader says what a file lacks
// (Process::damaged), the run's folder why a process was not traced (trace/run_folder.h);
// docs/ci.md lists it all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/run.h"

namespace dtypecheck {

// What the folder of a run says should be there.
struct ExpectedRun {
  std::string folder;               // as it was named
  std::vector<std::string> traces;  // names of files, when the program had ended
  int64_t pid = 0;                  // of the program; 0: it has not ended
  int status = 0, signal = 0;       // that it ended with
  bool is_one_rank = false;     // it was started as one rank of a launch: the others are elsewhere
  bool is_one_machine = false;  // ranks of other machines are not expected
};

// Which rank of how many a process is: what torch.distributed said in it, or, of a launch of more
// ranks than that, the launcher's variables. -1 and 0 where nobody says it.
struct PlaceInLaunch {
  int rank = -1, ranks = 0;
  bool is_of_launcher = false;
};
PlaceInLaunch place_in_launch(const Process& process);

// It was killed, by the kernel where memory ran out perhaps, or still runs. Where another process
// of the run sent it a signal, as multiprocessing ends workers, that was meant.
bool has_no_end(const Run& run, const Process& process);

// Which whole processes are missing, a sentence each: "rank 1 of 2 left no trace".
std::vector<std::string> missing_processes(const Run& run,
                                           const std::vector<ExpectedRun>& expected);

}  // namespace dtypecheck
