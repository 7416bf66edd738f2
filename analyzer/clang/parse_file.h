// parse_file.h: Clang over one file.
#pragma once

#include <string>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// `pch` is a precompiled header that make_pch() made of what the file begins with, named by its
// content as KEY-HASH.pch; empty: none. One that does not fit is removed, and the file is parsed
// whole. `waits`: it returns, each time in a process of its own, when this one is asked on standard
// input (fork_server.h), and with nothing parsed where the precompiled header does not do.
// `joined`: text that is read before it, as one with it; the facts are then those of the walk
// alone.
SourceFacts parse_file(const std::string& file, const std::vector<std::string>& arguments,
                       const std::string& pch, bool waits, const std::string& joined = "");

// What a precompiled header was made of.
struct PchParts {
  std::string hash;                  // of its content
  std::vector<std::string> folders;  // that headers were looked for in
  std::vector<std::string> files;    // that were read
};

// Parses `source`, a file of includes, into `pch`. No hash: something in it is missing or wrong.
PchParts make_pch(const std::string& source, const std::vector<std::string>& arguments,
                  const std::string& pch);

}  // namespace dtypecheck::analyzer
