// losses.h: what errors in a file cost.
//
// Clang goes on behind an error, and keeps the operands of what it did not understand. A file that
// calls a vendor's SDK, whose headers are not here, has errors by the dozen and may lose nothing
// that a check looks at: that is no file "in part". So it is asked what was lost: each word of the
// source that reads, asks for or changes a dtype (x.data_ptr, x.scalar_type, net->forward) must
// stand in the tree that came of it, on something that was understood; and sums in Half need the
// whole function.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/Lex/Preprocessor.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

struct SourceError {
  clang::SourceLocation location;
  std::string text;
  bool is_syntax = false;  // what stands around it was skipped
  bool is_fatal = false;   // so is the rest of the file
};

class Losses {
 public:
  // Notes the words about tensors as they are read.
  void watch(clang::Preprocessor& preprocessor);
  void add(SourceError error) { errors_.push_back(std::move(error)); }

  // Adds the errors that cost something, as "file:line: text", first those and then words without
  // one; and how many places there are. What stands on a stand-in (undeclared.h) is not understood
  // either.
  void add_to(SourceFacts& facts, const clang::ASTContext& context, bool has_stand_ins) const;

 private:
  struct Word {
    clang::SourceLocation location;
    std::string name;
  };

  std::vector<SourceError> errors_;
  std::vector<Word> words_;
};

}  // namespace dtypecheck::analyzer
