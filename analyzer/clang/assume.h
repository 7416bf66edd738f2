// assume.h: what a condition that came out true or false says of dtypes.
#pragma once

#include "analyzer/clang/dtypes.h"

namespace dtypecheck::analyzer {

// Narrows the state to what holds when `condition` is `truth`. Where the condition cannot be
// followed, the tensors whose dtypes it mentions count as looked at.
void assume(Dtypes& dtypes, const clang::Expr* condition, bool truth);

// A function whose body is elsewhere looks at the dtypes of what it is given, unless its name says
// that it asks for something else.
void look_at_arguments(Dtypes& dtypes, const clang::CallExpr* call);
void look_at_argument(Dtypes& dtypes, const clang::Expr* argument);

// at::TensorArg x_arg{x, "x", 1}, which stands for its tensor. False: it is something else.
bool declare_tensor_arg(Dtypes& dtypes, const clang::VarDecl* variable);
// at::checkAllSameType("f", {x_arg, y_arg}), of which some compare dtypes. False: another call.
bool check_of_tensor_args(Dtypes& dtypes, const clang::CallExpr* call);

// The constant that a condition compares something with for equality: x.scalar_type() == at::kHalf.
std::optional<Dtype> equals_constant(const clang::Expr* condition, const clang::ASTContext& context,
                                     const clang::Expr*& of);
// The same for inequality.
std::optional<Dtype> differs_from_constant(const clang::Expr* condition,
                                           const clang::ASTContext& context,
                                           const clang::Expr*& of);

// Every tensor whose dtype the expression mentions was looked at.
void look_at_mentioned(Dtypes& dtypes, const clang::Expr* expr);

}  // namespace dtypecheck::analyzer
