// watcher.h: what looks on while the walk (walk.h) goes through a function, and finds the facts.
//
// A watcher finds one fact or a family of them, and keeps what it has seen for these alone. It is
// told of each thing that the walk comes to, and asks where that is (whereabouts.h); what becomes
// of dtypes is none of its business. Each lies in a file watch_<name>.cpp, which defines
// watch_<name>(), as CMake expects of what lies there.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "analyzer/clang/whereabouts.h"

namespace dtypecheck::analyzer {

class Watcher {
 public:
  explicit Watcher(Whereabouts& at)
      : at_(at), context_(at.context), facts_(at.facts), dtypes_(at.dtypes) {}
  virtual ~Watcher() = default;

  // The walk begins with at_.stack.front(), whose parameters have symbols.
  virtual void enter() {}
  // A call, or any other expression, once all that it is made of was walked through.
  virtual void call(const clang::CallExpr*) {}
  virtual void expr(const clang::Expr*) {}
  // A call of a function whose body is not walked through.
  virtual void call_unseen(const clang::CallExpr*) {}
  // A function that is walked through for a call;
  virtual void walk_through(const clang::FunctionDecl*) {}
  // one whose body, elsewhere, says what becomes of modules or tensors.
  virtual void want_body(const clang::FunctionDecl*) {}
  // A variable is declared, or a parameter given, with this value.
  virtual void bind(const clang::VarDecl*, const clang::Expr*) {}
  virtual void assign(const clang::BinaryOperator*) {}
  // A tensor or dtype with this symbol is written to what an expression names.
  virtual void write(const clang::Expr*, int) {}
  // Before any of its ways is walked: the first `if` of a chain, with the statements behind one
  // that has no `else`; a ?:; a switch over the dtype with this symbol.
  virtual void branch(const clang::IfStmt*, llvm::ArrayRef<const clang::Stmt*>) {}
  virtual void choose(const clang::ConditionalOperator*) {}
  virtual void switch_over(const clang::SwitchStmt*, int) {}
  // All cases of a dispatch were walked through.
  virtual void dispatch(const Dispatch&) {}
  // An op of LibTorch that is called here, by itself or by a module.
  virtual void op(const SourceOp&) {}
  // A module whose dtype is assumed calls this with a tensor that has this symbol.
  virtual void layer(const SourceOp&, int) {}

 protected:
  using Switch = Whereabouts::Switch;
  using OpenBlock = Whereabouts::OpenBlock;
  using CallSite = Whereabouts::CallSite;

  Whereabouts& at_;
  const clang::ASTContext& context_;
  SourceFacts& facts_;
  Dtypes& dtypes_;
};

}  // namespace dtypecheck::analyzer
