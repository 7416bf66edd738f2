// file_facts.h: all that is found in a parsed file. What the program and the clang-tidy plugin
// share.
#pragma once

#include <clang/AST/ASTContext.h>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

// What finds facts without the state of the walk, each in its file.
#define DTYPECHECK_FINDERS(FINDER) \
  FINDER(find_field_writes)        \
  FINDER(find_arithmetic)          \
  FINDER(find_table_entries)       \
  FINDER(find_device_arithmetic)

#define FINDER(name) void name(clang::ASTContext& context, SourceFacts& facts);
DTYPECHECK_FINDERS(FINDER)
#undef FINDER

void add_facts(clang::ASTContext& context, SourceFacts& facts);
// What is found from the main file's functions on, whose calls lead into sources that are read
// before it.
void add_joined_facts(clang::ASTContext& context, SourceFacts& facts);
SourceFacts facts_of(clang::ASTContext& context);

}  // namespace dtypecheck::analyzer
