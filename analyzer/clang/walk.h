// walk.h: one walk through a function in the order it runs, which yields facts.
//
// A structured abstract interpretation: a branch copies the state and its end joins, a statement
// that does not return (what TORCH_CHECK comes to) ends a way. Functions of the same file, lambdas
// that are called where they stand and the cases of a dispatch are walked through in their
// caller's state, so a check counts wherever it is written.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/clang/check_sites.h"
#include "analyzer/clang/dtypes.h"

namespace dtypecheck::analyzer {

class Walk {
 public:
  Walk(const clang::ASTContext& context, SourceFacts& facts)
      : context_(context), facts_(facts), dtypes_(context) {}

  void function(const clang::FunctionDecl* function, Callers callers);

  // What a function writes to fields, by the expressions that do, or initialize them: of those in
  // `sites`, whoever calls it.
  using Sites = std::map<const clang::Expr*, std::string>;  // to the field
  void writes(const clang::FunctionDecl* function, const Sites& sites,
              std::vector<FieldWrite>& out);

 private:
  struct Written {
    const clang::Expr* site;
    int symbol;
    TensorFact fact;
  };
  // A dispatch that control is inside of.
  struct Switch {
    int symbol = -1;  // of the dtype; -1: a switch over something else
    State entry;
    std::vector<State> ends;
    DtypeSet cases;
    const clang::Expr* tensor = nullptr;
    TensorFact fact;
    std::set<const clang::Decl*> aliases;  // using scalar_t = …
    size_t lambdas = 0;
    std::string function;  // that dispatches
    const clang::SwitchStmt* stmt = nullptr;
  };
  // if (type == at::kFloat) … else if (type == at::kDouble) … else throw: a dispatch by hand.
  struct Chain {
    int symbol = -1;
    TensorFact fact;
    DtypeSet cases;
    clang::SourceLocation begin;
  };
  // The one tensor's dtype that a condition asks for, and the dtypes that it holds for.
  struct Question {
    int symbol;
    DtypeSet dtypes;
  };
  struct Arm {
    std::vector<const clang::Stmt*> body;
    DtypeSet dtypes;  // that come here
    bool is_last;     // an `else` without a question, a `default`, what stands behind a lone `if`
  };
  struct Call {
    std::vector<State> returns;
    std::vector<std::vector<int>> values;  // by return: a tensor or a dtype, or what a tuple has
    bool is_tuple = false;
    Key object;  // that it returns, by its `return`
  };
  struct Untyped {
    int symbol;
    TensorFact fact;
    CheckSite site;
    Place place;  // where the pointer was taken
    Place in_macro;
    std::string function;
    int parameter = -1;  // of the entry function, where it is the pointer's own; -1: a tensor's
  };

  // A block that control is inside of.
  struct Level {
    const clang::CompoundStmt* block;
    const clang::Stmt* statement;  // before which another could stand; null: before a part of it
    bool is_called_lambda;
    const clang::Stmt* whole = nullptr;  // the statement, though it be an `if` or a loop
  };

  struct CallSite {
    Place place;
    const clang::CallExpr* call;  // null: of a constructor
    int first;  // of its arguments that a parameter stands for; -1: the second parameter, the first
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
  std::optional<Question> asked(const clang::Expr* condition);
  void look_at_arms_of(const clang::IfStmt* first, llvm::ArrayRef<const clang::Stmt*> behind);
  void look_at_arms_of(const clang::SwitchStmt* stmt, int symbol);
  void look_at_arms(int symbol, const std::vector<Arm>& arms);
  void look_at_typed_arm(int symbol, const std::vector<Arm>& arms);
  bool widens(const clang::Expr* wide, const clang::Expr* other, int symbol);
  void look_at_half_alone(const clang::IfStmt* lone, const Question& question,
                          llvm::ArrayRef<const clang::Stmt*> behind);
  void add_half_alone(const Question& question, const clang::Stmt* at);
  void look_at_undone(int symbol, const std::vector<Arm>& arms, DtypeSet left);
  void add_branch(const clang::Stmt* at, BranchFault fault, const TensorFact& tensor,
                  DtypeSet dtypes, DtypeSet served);
  TensorFact dispatched(int symbol) const;
  void add_dispatch(Dispatch dispatch);
  void loop(const clang::Stmt* body, const clang::Expr* condition, const clang::Stmt* step);
  void range_for(const clang::CXXForRangeStmt* stmt);
  void do_once(const clang::Stmt* body);
  void do_while(const clang::DoStmt* stmt);
  void switch_over(const clang::SwitchStmt* stmt);
  void switch_case(const clang::SwitchCase* stmt);
  void try_block(const clang::CXXTryStmt* stmt);
  void return_from(const clang::ReturnStmt* stmt);
  void declare(const clang::DeclStmt* stmt);
  void declare(const clang::VarDecl* variable);

  void expr(const clang::Expr* expr);
  void call(const clang::CallExpr* call);
  void conditional(const clang::ConditionalOperator* expr);
  void lambda_in_place(const clang::LambdaExpr* lambda);
  bool call_lambda(const clang::CallExpr* call);
  bool walk_through(const clang::CallExpr* call);
  void assign(const clang::CXXOperatorCallExpr* assignment);
  void assign_dtype(const clang::Expr* to, const clang::Expr* value);
  void bind_parameter(const clang::ParmVarDecl* parameter, const clang::Expr* argument);
  // What it returns: a value, or those of a tuple; `call`, if there is one, is remembered to give
  // it.
  std::vector<int> run_body(const clang::Stmt* body, const clang::Expr* call);
  // In a function that a call leads to; `object`, where there is one, is its *this.
  template <class Run>
  void inside(const clang::FunctionDecl* function, CallSite site, const Key* object,
              const Run& run) {
    stack_.push_back(function);
    call_sites_.push_back(std::move(site));
    std::string outer = std::exchange(function_, function->getNameAsString());
    State::Object before;
    if (object != nullptr) before = dtypes_.state.enter_object(*object);
    run();
    if (object != nullptr) dtypes_.state.leave_object(*object, before);
    function_ = std::move(outer);
    call_sites_.pop_back();
    stack_.pop_back();
  }
  std::vector<int> returned(const Call& done);
  void trust_opaque_check(const clang::CallExpr* call);
  void trust_unknown_check(const clang::RecoveryExpr* unknown);
  bool declare_tensor_arg(const clang::VarDecl* variable);
  bool check_of_tensor_args(const clang::CallExpr* call);
  void call_outside(const clang::CallExpr* call);
  void enter(const clang::FunctionDecl* function, Callers callers);
  void initialize_fields(const clang::CXXConstructorDecl* constructor);
  void initialize_fields(const clang::InitListExpr* list);
  int initialize(const clang::Expr* init);
  void wrote(const clang::Expr* site, int symbol);
  TensorFact at_exit(const Written& written) const;
  int parameter_of(int symbol) const;

  void read_of(const MemberCall& call);
  void cast_of(const clang::ExplicitCastExpr* cast);
  void add_use(PointerUse use);
  void hand_on(const clang::Expr* pointer, std::string to, int position);
  void hand_on_arguments(const clang::CallExpr* call);
  void hand_on_fields(const clang::InitListExpr* list);
  bool asks_for_dtype_of(const std::string& tensor);
  void fill_of(const clang::CallExpr* call);
  void op_of(const clang::CallExpr* call);
  void add_op(SourceOp op);
  void say_options(const SourceOp& op, SourceOperand& operand) const;
  // A class, the constructor that makes an object of it, and what that is given.
  struct Making {
    const clang::CXXRecordDecl* record;
    const clang::CXXConstructorDecl* constructor;  // null: not known which
    llvm::ArrayRef<const clang::Expr*> given;
  };
  static std::optional<Making> making_of(const clang::Expr* expr);
  bool construct(const Key& object, const clang::Expr* value);
  void initialize_object(const clang::CXXConstructorDecl* constructor);
  void initialize_field(const Key& key, clang::QualType type, const clang::Expr* value);
  bool is_too_deep(const clang::FunctionDecl* function) const;
  const clang::FunctionDecl* called_by(const clang::CallExpr* call) const;
  const clang::FunctionDecl* body_of(const clang::CallExpr* call) const;
  bool calls_other_object(const clang::CallExpr* call, Key& key) const;
  void module_cast(const clang::CallExpr* call);
  void cast_module(const Key& module, int symbol);
  void module_given(const clang::CallExpr* call);
  void module_made(const clang::VarDecl* variable);
  void module_set(const Key& module, const clang::Expr* value);
  void module_added(const clang::CallExpr* call);
  void module_bound(const clang::ParmVarDecl* parameter, const clang::Expr* argument);
  int module_of(const clang::Expr* expr);
  bool casts_itself(const clang::CXXRecordDecl* record);
  void module_run(const clang::CallExpr* call);
  // What a layer is given.
  struct Input {
    int symbol;
    std::string text;
  };
  void run_layers(const clang::CallExpr* call, const clang::Expr* module, const Input& given);
  int run_one(const clang::CallExpr* call, const clang::CXXRecordDecl* layer,
              const clang::Expr* module, const Input& input);
  std::optional<int> run_block(const clang::CallExpr* call, const clang::CXXRecordDecl* block,
                               const clang::Expr* module, const Input& input);
  int run_layer(const clang::CallExpr* call, llvm::StringRef layer, const clang::Expr* module,
                const std::vector<Input>& given);
  void run_recurrent(const clang::CallExpr* call, llvm::StringRef op, const clang::Expr* module);
  void module_called_outside(const clang::CallExpr* call);
  void want_body(const clang::FunctionDecl* function);
  std::vector<Place> led_here(const Place& place) const;
  void add_layer_input(SourceOp op, int tensor);
  // Whose modules are said to be Float: those of a function that no other file knows have no name.
  std::string assumption() const { return entry_.empty() ? "-" : entry_; }
  void run_program(const clang::CallExpr* call, const clang::Expr* module);
  void input_added(const clang::CallExpr* call);
  void run_loss(const clang::CallExpr* call, llvm::StringRef op);
  std::vector<const clang::CXXRecordDecl*> layers_of(const clang::Expr* module);

  // What a dataset's examples, or a loader's batches, have.
  struct Examples {
    DtypeSet data = kAnyDtype, target = kAnyDtype;
    Place data_made, target_made;
  };
  std::optional<Examples> examples_of(const clang::Expr* expr);
  std::optional<Examples> examples_of_class(const clang::CXXRecordDecl* dataset,
                                            const clang::CXXConstructExpr* made);
  Examples transformed(Examples examples, const clang::Expr* transform);
  void bind_examples(const clang::VarDecl* variable, const clang::Expr* value);
  void bind_fields(const clang::VarDecl* variable, const clang::Expr* value);
  void initialize_listed(const Key& object, const clang::InitListExpr* list);
  void bind_example(const clang::VarDecl* variable, const Examples& examples);
  void assign_tie(const clang::CallExpr* tie, const clang::Expr* value, size_t& at);
  void optimizer_of(const clang::CXXConstructExpr* made);
  bool in_dispatch_on(DtypeSet dtypes) const;
  void division_of(const clang::CallExpr* call);
  void buffer_of(const clang::CallExpr* call);
  void numbers_of(const clang::CallExpr* call);
  void list_changed(const clang::CallExpr* call);
  const Untyped* untyped(const clang::Expr* expr);
  std::string meaning(clang::QualType type) const;
  CheckSite site_of(const MemberCall& call);
  void add_outer_sites(CheckSite& site, size_t level, const std::set<std::string>& names);
  size_t level_around(size_t level) const;
  void expr_of_one_way(const clang::Expr* expr);
  void leave_to_caller(Read& read, const clang::Expr* tensor, clang::QualType type) const;
  void add_read(Read read, int symbol, clang::QualType type);
  bool is_in_dispatch_on(int symbol) const;
  const Switch* dispatch_of(clang::QualType type, DtypeSet accepts) const;
  std::string macro_at(clang::SourceLocation location) const;
  bool is_ours(clang::SourceLocation location) const;

  // Where a function has more statements and calls than these, the rest of it is left out: a
  // generated one would take minutes.
  static constexpr uint64_t kMaxSteps = 400'000;

  const clang::ASTContext& context_;
  SourceFacts& facts_;
  Dtypes dtypes_;
  std::vector<Switch> switches_;  // innermost last; also one for each loop, for its breaks
  std::vector<Call> calls_;
  std::vector<const clang::FunctionDecl*> stack_;
  std::string entry_;                 // of stack_.front(), as other files know it
  std::vector<int> parameters_;       // symbols of its parameters
  std::vector<CallSite> call_sites_;  // of each function of the stack but the first
  std::map<Key, Untyped> pointers_;
  std::map<const clang::FunctionDecl*, std::set<std::string>>
      asked_;  // whose dtypes bodies ask for
  Reached reached_;
  std::map<const clang::Expr*, Untyped> seen_untyped_;
  std::map<const clang::Decl*, std::vector<int>> lists_;  // initializer lists of tensors
  std::map<const clang::VarDecl*, const clang::LambdaExpr*> lambdas_;
  std::map<const clang::Decl*, Examples> examples_;
  std::map<const clang::Decl*, std::vector<const clang::Expr*>> program_inputs_;  // by their list
  std::map<const clang::CXXRecordDecl*, bool> casts_itself_;
  std::map<std::tuple<Place, Place, std::string, ReadAs>, size_t> reads_;
  std::map<Place, size_t> dispatches_;
  std::set<std::pair<Place, BranchFault>> branches_;
  std::set<std::pair<const clang::FunctionDecl*, std::string>> undone_;  // told, by the tensor
  std::set<Place> fills_;
  std::map<Place, size_t> divisions_;
  std::set<Place> buffers_;
  std::set<Place> numbers_;
  std::set<std::pair<Place, std::string>> ops_;
  bool autocast_ = false;  // the function opens a region: what its ops see is not what they get
  std::string function_;
  std::vector<Level> levels_;                 // innermost last
  const clang::Stmt* lambda_body_ = nullptr;  // that a call is about to run
  Callers callers_ = Callers::kUnseen;
  size_t lambda_depth_ = 0;
  const Sites* sites_ = nullptr;  // null: the walk is not about fields
  std::vector<Written> written_;
  uint64_t steps_ = 0;
};

}  // namespace dtypecheck::analyzer
