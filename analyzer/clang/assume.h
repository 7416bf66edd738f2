// assume.h: what a condition that came out true or false says of dtypes.
#pragma once

#include "analyzer/clang/dtypes.h"

namespace dtypecheck::analyzer {

// Narrows the state to what holds when `condition` is `truth`. Where the condition cannot be
// followed, the tensors whose dtypes it mentions count as looked at.
void assume(Dtypes& dtypes, const clang::Expr* condition, bool truth);

// Every tensor whose dtype the expression mentions was looked at.
void look_at_mentioned(Dtypes& dtypes, const clang::Expr* expr);

}  // namespace dtypecheck::analyzer
