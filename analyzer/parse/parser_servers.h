// parser_servers.h: parsers that have read the precompiled headers of a file, and wait until an
// editor saves it (clang/fork_server.h). They answer as a parser that is started then, and sooner.
#pragma once

#include <sys/types.h>

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/parse/parser_process.h"
#include "analyzer/parse/worker.h"

namespace dtypecheck::analyzer {

class ParserServers {
 public:
  ParserServers();
  ~ParserServers();

  // That start() is to start one for this file. "": it has no precompiled header, and needs none.
  void want(const ParseJob& job, const std::string& pch);
  // The answer of the one that waits for this file; nothing where none does, or where it fails. It
  // is wanted from then on.
  std::optional<ParserAnswer> ask(const ParseJob& job, const std::string& pch, int timeout_s);
  // One for the file that was wanted last, unless it waits already. They end with the thread
  // that calls this.
  void start(const std::string& program);

 private:
  class Server;
  struct Wanted {
    std::string file, key;
    std::vector<std::string> arguments;
  };

  Wanted wanted_;
  std::list<std::unique_ptr<Server>> servers_;  // the one that was asked last first
};

}  // namespace dtypecheck::analyzer
