// check_sites.h: where a TORCH_CHECK of a tensor may stand that a fix writes.
//
// As near to the function's head as it refuses nothing that the function serves today: whatever
// comes there must come to the read that the check is about, with the tensor that it is about.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Stmt.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

struct CheckSite {
  Place begin;                   // where it is written; line 0: nowhere
  Place end;                     // what stands between the two needs no further check of the tensor
  bool is_first = false;         // nothing of the block has to run before it
  std::vector<OuterSite> outer;  // where one check may stand for those of all branches, inner first
};

// How far up the checks of earlier reads could stand, so that many reads of a block cost one walk
// over it: from a statement of the block to another, by number.
struct Reached {
  struct Way {
    size_t from = 0, to = 0;
  };
  std::map<std::pair<const clang::CompoundStmt*, std::set<std::string>>, Way> ways;
};

// Of a read in `statement`, which stands in `block` as such. `names` are those of the variables
// that the check asks.
CheckSite check_site(const clang::ASTContext& context, const clang::CompoundStmt* block,
                     const clang::Stmt* statement, const std::set<std::string>& names,
                     Reached& reached);

// Which branch of `statement` a block is, of how many that share all that comes there: {0, 1} of a
// block by itself and of a loop, which counts as run, {1, 3} of the second one in if … else if …
// else …; {0, 0}: it is none, or the loop makes or changes one of the variables.
std::pair<int, int> branch_of(const clang::Stmt* statement, const clang::CompoundStmt* block,
                              const std::set<std::string>& names);

// weight, of params.weight and weight->value()
std::string root_of(const std::string& name);

}  // namespace dtypecheck::analyzer
