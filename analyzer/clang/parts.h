// parts.h: the parts of the walk (walk.h) that follow what LibTorch's own classes do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/clang/whereabouts.h"

namespace dtypecheck::analyzer {

class Walk;

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

// They are led into further functions, which they have the walk go through.
class WalkPart {
 public:
  explicit WalkPart(Walk& walk);

 protected:
  Walk& walk_;
  Whereabouts& at_;
  Dtypes& dtypes_;
};

// The dtype of modules' parameters: what makes, holds and casts a module.
class ModuleDtypes : public WalkPart {
 public:
  using WalkPart::WalkPart;

  // A call that casts a module, or adds one to a list;
  void call(const clang::CallExpr* call);
  // one whose body is not seen, which may do anything to those that it is given.
  void cast_by_unseen(const clang::CallExpr* call);
  void make(const clang::VarDecl* variable);
  void bind(const clang::ParmVarDecl* parameter, const clang::Expr* argument);
  // A module, and what it registered of floating numbers, becomes of the dtype that the symbol has.
  // -1: of one that is not known.
  void cast(const Key& module, int symbol);
  // A variable or field holds the module that an expression names, or makes: of what its
  // constructor casts that says the dtype.
  void set(const Key& module, const clang::Expr* value);

 private:
  void cast(const clang::CallExpr* call);
  void add(const clang::CallExpr* call);
  int module_of(const clang::Expr* expr);
  bool casts_itself(const clang::CXXRecordDecl* record);

  std::map<const clang::CXXRecordDecl*, bool> casts_itself_;
};

// What LibTorch's own modules make of what they are given.
class Layers : public WalkPart {
 public:
  using WalkPart::WalkPart;

  // A call that may run a module.
  void call(const clang::CallExpr* call);

 private:
  // What a layer is given.
  struct Input {
    int symbol;
    std::string text;
  };
  void run_all(const clang::CallExpr* call, const clang::Expr* module, const Input& given);
  int run_one(const clang::CallExpr* call, const clang::CXXRecordDecl* layer,
              const clang::Expr* module, const Input& input);
  std::optional<int> run_block(const clang::CallExpr* call, const clang::CXXRecordDecl* block,
                               const clang::Expr* module, const Input& input);
  int run_layer(const clang::CallExpr* call, llvm::StringRef layer, const clang::Expr* module,
                const std::vector<Input>& given);
  void run_recurrent(const clang::CallExpr* call, llvm::StringRef op, const clang::Expr* module);
  void run_loss(const clang::CallExpr* call, llvm::StringRef op);
  std::vector<const clang::CXXRecordDecl*> layers_of(const clang::Expr* module);
};

// What a dataset's examples, or a loader's batches, have.
struct Examples {
  DtypeSet data = kAnyDtype, target = kAnyDtype;
  Place data_made, target_made;
};

// What a data loader's batches hold: the built-in datasets by their names, those of the program
// by what their constructor and get() make.
class Datasets : public WalkPart {
 public:
  using WalkPart::WalkPart;

  // Of a dataset, or a loader of one; empty: it is neither, or not known.
  std::optional<Examples> examples_of(const clang::Expr* expr);
  void bind(const clang::VarDecl* variable, const clang::Expr* value);
  void bind_each(const clang::VarDecl* variable, const Examples& examples);

 private:
  std::optional<Examples> examples_of_class(const clang::CXXRecordDecl* dataset,
                                            const clang::CXXConstructExpr* made);
  Examples transformed(Examples examples, const clang::Expr* transform);

  std::map<const clang::Decl*, Examples> examples_;
};

}  // namespace dtypecheck::analyzer
