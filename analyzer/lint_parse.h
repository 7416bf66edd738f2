// lint_parse.h: sources to facts, several at a time, with what the cache knows.
#pragma once

#include <string>
#include <vector>

#include "analyzer/facts.h"
#include "analyzer/lint_sources.h"
#include "analyzer/parse/compile_command.h"

namespace dtypecheck::analyzer {

class ParserServers;

struct ParseOptions {
  unsigned jobs = 0;  // files at a time; 0: the number of cores
  int timeout_s = 300;
  bool no_cache = false;
  bool alone = false;                // no other file of the project is parsed beside them
  std::vector<std::string> folders;  // that were named: what lies below one is one tree
  ParserServers* servers = nullptr;  // of an editor: files are parsed again soon
};

std::vector<SourceFacts> parse(const std::vector<std::string>& files, const Database& database,
                               const Toolkits& toolkits, const ParseOptions& options);

// Which of these files, edited since, have errors that they had not; a header has those of a source
// that includes it.
std::vector<std::string> files_with_more_errors(const std::vector<std::string>& edited,
                                                const std::vector<SourceFacts>& before,
                                                const Database& database, const Toolkits& toolkits,
                                                ParseOptions options);

}  // namespace dtypecheck::analyzer
