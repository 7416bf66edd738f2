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

// The functions of the main file that nothing in it calls: those that are called are walked
// through in their callers.
std::vector<EntryPoint> entry_points(clang::ASTContext& context);

// PackedTensorAccessor32<long, 1> and its like, wherever the main file names them.
std::vector<LongElement> long_elements(clang::ASTContext& context);

}  // namespace dtypecheck::analyzer
