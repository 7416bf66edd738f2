// low_precision.h: Half and BFloat16 in the expressions of a kernel, asked by what finds sums in
// them (arithmetic.cpp) and other arithmetic (device_arithmetic.cpp, where these are).
#pragma once

#include <clang/AST/Expr.h>

#include "core/dtype_set.h"

namespace dtypecheck::analyzer {

// Half or BFloat16, or both of what holds two; empty: the type is another.
DtypeSet low_precision(clang::QualType type);
// The value in Half or BFloat16 that an expression converts to Float or double; null: it does not.
const clang::Expr* rounded_before(const clang::Expr* expr);

}  // namespace dtypecheck::analyzer
