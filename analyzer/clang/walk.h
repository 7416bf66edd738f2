// walk.h: one walk through a function in the order it runs, on which watchers (watcher.h) look for
// facts.
//
// A structured abstract interpretation: a branch copies the state and its end joins, a statement
// that does not return (what TORCH_CHECK comes to) ends a way. Functions of the same file, lambdas
// that are called where they stand and the cases of a dispatch are walked through in their
// caller's state, so a check counts wherever it is written.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/clang/parts.h"
#include "analyzer/clang/watcher.h"
#include "analyzer/clang/whereabouts.h"

namespace dtypecheck::analyzer {

class Walk {
 public:
  // How often the body of a loop is walked through: until dtypes stay the same, or twice, so that
  // each write of a later round is seen.
  enum class Rounds { kFew, kEach };
  Walk(const clang::ASTContext& context, SourceFacts& facts, Rounds rounds = Rounds::kFew);

  Whereabouts& at() { return at_; }
  void function(const clang::FunctionDecl* function, Callers callers);
  // A function had more statements and calls than kMaxSteps.
  bool is_cut() const { return steps_ > kMaxSteps; }

  // Of what follows, the parts of the walk ask for what leads them into further functions.
  void enter(const clang::FunctionDecl* function, Callers callers);
  void expr(const clang::Expr* expr);
  // What it returns: a value, or those of a tuple; `call`, if there is one, is remembered to give
  // it.
  std::vector<int> run_body(const clang::Stmt* body, const clang::Expr* call);
  void bind_parameter(const clang::ParmVarDecl* parameter, const clang::Expr* argument);
  // False: the constructor, if there is one, is not seen.
  bool construct(const Key& object, const clang::Expr* value);
  // In a function that a call leads to; `object`, where there is one, is its *this.
  template <class Run>
  void inside(const clang::FunctionDecl* function, Whereabouts::CallSite site, const Key* object,
              const Run& run) {
    at_.stack.push_back(function);
    at_.call_sites.push_back(std::move(site));
    std::string outer = std::exchange(at_.function, function->getNameAsString());
    DtypeState::Object before;
    if (object != nullptr) before = dtypes_.state.enter_object(*object);
    run();
    if (object != nullptr) dtypes_.state.leave_object(*object, before);
    at_.function = std::move(outer);
    at_.call_sites.pop_back();
    at_.stack.pop_back();
  }

 private:
  // if (type == at::kFloat) … else if (type == at::kDouble) … else throw: a dispatch by hand.
  struct Chain {
    int symbol = -1;
    TensorFact fact;
    DtypeSet cases;
    clang::SourceLocation begin;
  };
  struct Call {
    std::vector<DtypeState> returns;
    std::vector<std::vector<int>> values;  // by return: a tensor or a dtype, or what a tuple has
    bool is_tuple = false;
    Key object;  // that it returns, by its `return`
  };

  void stmt(const clang::Stmt* stmt);
  void children(const clang::Stmt* stmt);
  void block(const clang::CompoundStmt* block);
  void branch(const clang::IfStmt* stmt);
  // What follows a condition that holds, and one that does not, joined.
  void either_way(const clang::Expr* condition, const std::function<void(bool)>& way);
  void recall(const clang::Expr* condition, bool truth);
  std::optional<Chain> chain_at(const clang::IfStmt* first);
  void chain(const clang::IfStmt* stmt, const Chain& chain);
  void add_dispatch(clang::SourceLocation begin, const TensorFact& tensor, DtypeSet cases);
  void loop(const clang::Stmt* body, const clang::Expr* condition, const clang::Stmt* step);
  void range_for(const clang::CXXForRangeStmt* stmt);
  bool each_parameter(const clang::VarDecl* variable, const clang::Expr* range);
  void set_data(const clang::CallExpr* call);
  void do_once(const clang::Stmt* body);
  void do_while(const clang::DoStmt* stmt);
  void switch_over(const clang::SwitchStmt* stmt);
  void switch_case(const clang::SwitchCase* stmt);
  void try_block(const clang::CXXTryStmt* stmt);
  void return_from(const clang::ReturnStmt* stmt);
  void declare(const clang::DeclStmt* stmt);
  void declare(const clang::VarDecl* variable);

  void call(const clang::CallExpr* call);
  void conditional(const clang::ConditionalOperator* expr);
  void lambda_in_place(const clang::LambdaExpr* lambda);
  bool call_lambda(const clang::CallExpr* call);
  const clang::FunctionDecl* called(const clang::CallExpr* call) const;
  bool walk_through(const clang::CallExpr* call);
  void forget_written(const clang::Expr* written);
  void assign(const clang::CXXOperatorCallExpr* assignment);
  void assign(const clang::BinaryOperator* assignment);
  void name_object(const clang::VarDecl* name, const clang::Expr* value);
  void assign_object(const clang::Expr* to, const clang::Expr* value);
  void assign_dtype(const clang::Expr* to, const clang::Expr* value);
  void assign_tie(const clang::CallExpr* tie, const clang::Expr* value, size_t& at);
  void list_changed(const clang::CallExpr* call);
  std::vector<int> returned(const Call& done);
  void trust_opaque_check(const clang::CallExpr* call);
  void trust_unknown_check(const clang::RecoveryExpr* unknown);
  void expr_of_one_way(const clang::Expr* expr);
  void bind_fields(const clang::VarDecl* variable, const clang::Expr* value);

  void initialize_object(const clang::CXXConstructorDecl* constructor);
  void initialize_field(const Key& key, clang::QualType type, const clang::Expr* value);
  void initialize_listed(const Key& object, const clang::InitListExpr* list);

  // Where a function has more statements and calls than these, the rest of it is left out: a
  // generated one would take minutes.
  static constexpr uint64_t kMaxSteps = 400'000;

  Whereabouts at_;
  const clang::ASTContext& context_;
  Dtypes& dtypes_;
  const Rounds rounds_;
  ModuleDtypes modules_;
  Layers layers_;
  Datasets datasets_;
  std::vector<Call> calls_;
  std::map<const clang::Decl*, std::vector<int>> lists_;  // initializer lists of tensors
  std::map<const clang::Decl*, Key> parameters_of_;  // the module, by what stands for each of them
  std::map<const clang::VarDecl*, const clang::LambdaExpr*> lambdas_;
  const clang::Stmt* lambda_body_ = nullptr;  // that a call is about to run
  size_t lambda_depth_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace dtypecheck::analyzer
