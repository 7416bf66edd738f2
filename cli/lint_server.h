// lint_server.h: `dtypecheck lint --lsp`, a language server: JSON-RPC on standard input and output.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analyzer/facts.h"
#include "core/finding.h"

namespace dtypecheck::cli {

// What is known of one source, as it stands on the disk.
struct Linted {
  std::vector<Finding> findings;
  analyzer::SourceFacts facts;
};

// Serves one client until it says `exit` or is gone; gives the exit status. `lint` is called from
// one thread of the server's own, one file at a time; what it throws goes to the client's log.
int serve_lint(const std::function<Linted(const std::string& file)>& lint);

}  // namespace dtypecheck::cli
