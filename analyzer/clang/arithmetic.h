// arithmetic.h: sums that are kept in Half or BFloat16, and numbers that Half cannot hold, in the
// functions of the main file and of the project's headers. Templates count by their instantiations:
// what nothing makes of Half is not reported.
#pragma once

#include <clang/AST/ASTContext.h>
#include <clang/AST/Expr.h>

#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

void find_arithmetic(clang::ASTContext& context, SourceFacts& facts);

// What kernels compute in Half or BFloat16, or in double, without need.
void find_device_arithmetic(clang::ASTContext& context, SourceFacts& facts);

// Half or BFloat16, or both of what holds two; empty: the type is another.
DtypeSet low_precision(clang::QualType type);
// The value in Half or BFloat16 that an expression converts to Float or double; null: it does not.
const clang::Expr* rounded_before(const clang::Expr* expr);

}  // namespace dtypecheck::analyzer
