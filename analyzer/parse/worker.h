// worker.h: source files through dtypecheck-analyzer, a process for each, several at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

class FactsCache;
class PrecompiledHeaders;
class ParserServers;

struct ParseJob {
  std::string file;
  std::vector<std::string> arguments;  // parse_arguments()
  std::string joined = "";             // what is read before it, as one with it
};

struct WorkerOptions {
  std::string program;  // dtypecheck-analyzer
  unsigned jobs = 1;
  int timeout_s = 300;  // for one file
  FactsCache* cache = nullptr;
  PrecompiledHeaders* headers = nullptr;
  ParserServers* servers = nullptr;  // asked where there is one job
};

// The facts of each file, in the order of the jobs. A file whose process crashed, ran out of time
// or answered nonsense is one that was not parsed, with the reason in `problems`. `done` hears
// how many files are through, from any thread but one at a time. Throws InputError when the
// program cannot be started at all.
std::vector<SourceFacts> parse_all(const std::vector<ParseJob>& jobs, const WorkerOptions& options,
                                   const std::function<void(size_t)>& done);

}  // namespace dtypecheck::analyzer
