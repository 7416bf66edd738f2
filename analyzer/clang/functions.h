// functions.h: which functions of a file the walk begins with.
#pragma once

#include <clang/AST/ASTContext.h>

#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

struct EntryPoint {
  const clang::FunctionDecl* function;
  Callers callers;
};

// Of the main file and the project's own headers.
struct WalkedFunctions {
  std::vector<EntryPoint>
      entries;           // that nothing calls: others are walked through in their callers
  uint64_t written = 0;  // in the main file; neither lambdas nor what a macro makes
  std::vector<std::string> defined;  // in the main file, by outside_name()
  std::vector<std::string> bound;    // those of other files that are bound to Python here, or an op
};
WalkedFunctions functions_of(clang::ASTContext& context);

// How other files know a function: "ops::scale/2"; "" where they cannot call it.
std::string outside_name(const clang::FunctionDecl* function);

bool in_main_file(const clang::ASTContext& context, clang::SourceLocation location);
// The main file, or a header that is not a system's: of the project.
bool is_of_project(const clang::ASTContext& context, clang::SourceLocation location);

// PackedTensorAccessor32<long, 1> and its like, wherever the project's code names them.
std::vector<LongElement> long_elements(clang::ASTContext& context);

}  // namespace dtypecheck::analyzer
