// arithmetic.h: sums that are kept in Half or BFloat16, and numbers that Half cannot hold, in the
// functions of the main file and of the headers beside it. Templates count by their instantiations:
// what nothing makes of Half is not reported.
#pragma once

#include <clang/AST/ASTContext.h>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

void find_arithmetic(clang::ASTContext& context, SourceFacts& facts);

}  // namespace dtypecheck::analyzer
