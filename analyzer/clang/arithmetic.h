// arithmetic.h: what both ask of a number, what sums it up (arithmetic.cpp) and what else a kernel
// does with it (device_arithmetic.cpp).
#pragma once

#include <clang/AST/Expr.h>

#include "core/dtype_set.h"

namespace dtypecheck::analyzer {

// Half or BFloat16, or both of what holds two; empty: the type is another.
DtypeSet low_precision(clang::QualType type);
// The value in Half or BFloat16 that an expression converts to Float or double; null: it does not.
const clang::Expr* rounded_before(const clang::Expr* expr);

}  // namespace dtypecheck::analyzer
