// module_calls.h: what makes a module, which function a call of one ends in, and what LibTorch's
// own call.
#pragma once

#include <optional>

#include "analyzer/clang/exprs.h"

namespace dtypecheck::analyzer {

// What a module of torch::nn calls with its input and its weight; "": it is none of these.
llvm::StringRef op_of_module(llvm::StringRef name);
// So many tensors at its front meet its weights.
unsigned inputs_of_module(llvm::StringRef name);
// What it calls with its input, a hidden state and weights.
llvm::StringRef op_of_recurrent(llvm::StringRef name);
// What it calls with what a model gave and what it should have given.
llvm::StringRef op_of_loss(llvm::StringRef name);
// It has no parameters, and gives back what it is given, as far as the dtype goes.
bool keeps_dtype(llvm::StringRef name);

// A class, the constructor that makes an object of it, and what that is given.
struct Making {
  const clang::CXXRecordDecl* record;
  const clang::CXXConstructorDecl* constructor;  // null: not known which
  llvm::ArrayRef<const clang::Expr*> given;
};

// Net(a), std::make_shared<Net>(a), new Net(a), register_module("net", Net(a)), and a holder's
// constructor, which gives its arguments to that of what it holds.
std::optional<Making> making_of(const clang::Expr* expr);

// The module that a call runs: net->forward(x), net(x). Null: none.
const clang::Expr* module_that_runs(const clang::CallExpr* call);
const clang::CXXMethodDecl* forward_of(const clang::CXXRecordDecl* module);
// The function that a call ends in.
const clang::FunctionDecl* called_by(const clang::CallExpr* call);

// net, of net->
std::string without_arrow(std::string name);

}  // namespace dtypecheck::analyzer
