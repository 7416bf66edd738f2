// file_facts.h: all that is found in a parsed file. What the program and the clang-tidy plugin
// share.
#pragma once

#include <clang/AST/ASTContext.h>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

void add_facts(clang::ASTContext& context, SourceFacts& facts);
SourceFacts facts_of(clang::ASTContext& context);

}  // namespace dtypecheck::analyzer
