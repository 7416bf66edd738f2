// check_sites.h: where a TORCH_CHECK of a tensor may stand that a fix writes.
//
// As near to the function's head as it refuses nothing that the function serves today: whatever
// comes there must come to the read that the check is about, with the tensor that it is about.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>

#include <set>
#include <string>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

struct CheckSite {
  Place begin;            // where it is written; line 0: nowhere
  Place end;              // what stands between the two needs no further check of the tensor
  bool is_first = false;  // nothing of the block has to run before it
};

// Of a read in `statement`, which stands in `block` as such. `names` are those of the variables
// that the check asks.
CheckSite check_site(const clang::ASTContext& context, const clang::CompoundStmt* block,
                     const clang::Stmt* statement, const std::set<std::string>& names);

// weight, of params.weight and weight->value()
std::string root_of(const std::string& name);

}  // namespace dtypecheck::analyzer
