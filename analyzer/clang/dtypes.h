// dtypes.h: which symbol of the state an expression stands for.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/state.h"
#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

class Dtypes {
 public:
  explicit Dtypes(const clang::ASTContext& context) : context_(context) {}

  State state;  // at the point where the walk is

  int make(TensorSource source, DtypeSet dtypes, std::string name = "");
  // The symbol of a tensor: made when it has none yet.
  int tensor(const clang::Expr* expr);
  // The symbol of a dtype, a type meta or tensor options; -1: it is not known what it is.
  int dtype(const clang::Expr* expr);
  void bind(const clang::ValueDecl* variable, int symbol) { state.bind({variable}, symbol); }
  void assign(const clang::Expr* to, int symbol);
  // The variable or field that holds a module, through pointers and holders.
  bool module_key(const clang::Expr* expr, Key& key) const;
  // The symbol of the dtype of a module's parameters; -1: not known.
  int module(const clang::Expr* expr) const;
  // An op of LibTorch that is called, by an operator, a method or a function; no op where it is
  // something else. Operands are named as the schema does, where the declaration tells.
  struct CalledOp {
    SourceOp op;
    std::vector<int> symbols;  // of the operands
  };
  CalledOp op(const clang::CallExpr* call);
  // The symbol of result number `number` of a call: indices of x.max(1).
  int result(const clang::Expr* expr, size_t number);

  // What a call that was walked through gave back.
  void remember(const clang::Expr* call, int symbol) { results_[call] = symbol; }

  // The dtype or options among the arguments from `first` on; -1: none is given.
  int options_among(const clang::CallExpr* call, unsigned first);

  TensorFact fact(const clang::Expr* expr);
  std::string text(const clang::Expr* expr) const;
  TensorSource source(int symbol) const { return made_.at(symbol).source; }
  const std::string& name(int symbol) const { return made_.at(symbol).name; }

 private:
  struct Made {
    TensorSource source;
    std::string name;
  };
  int tensor_of(const clang::Expr* expr);
  int variable(const clang::Expr* expr);
  int method_result(const MemberCall& call);
  int cast_result(const MemberCall& call);
  void add_operand(CalledOp& called, const std::string& name, const clang::Expr* argument);
  int op_result(const clang::CallExpr* call, size_t result = 0);
  int function_result(const clang::CallExpr* call);
  int like(int symbol);  // another tensor of the same dtype
  bool key_of(const clang::Expr* expr, Key& key, TensorSource& source) const;

  const clang::ASTContext& context_;
  std::vector<Made> made_;  // by symbol
  std::map<const clang::Expr*, int> results_;
};

}  // namespace dtypecheck::analyzer
