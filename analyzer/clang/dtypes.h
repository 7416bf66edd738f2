// dtypes.h: which symbol of the state an expression stands for.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analyzer/clang/exprs.h"
#include "analyzer/clang/state.h"
#include "analyzer/facts.h"

namespace dtypecheck::analyzer {

class Dtypes {
 public:
  explicit Dtypes(const clang::ASTContext& context) : context_(context) {}

  DtypeState state;  // at the point where the walk is

  int make(TensorSource source, DtypeSet dtypes, std::string name = "");
  // The symbol of a tensor: made when it has none yet.
  int tensor(const clang::Expr* expr);
  // The symbol that stands for all tensors of a list that is made here; -1: not known.
  int list(const clang::Expr* made);
  // The symbol of a dtype, a type meta or tensor options; -1: it is not known what it is.
  int dtype(const clang::Expr* expr);
  void begin_function() {
    state = DtypeState();
    field_symbols_.clear();
    iterators_.clear();
    aliases_.clear();
    assumed_ = -1;
    default_ = Dtype::kFloat;
    factories_.clear();
  }
  // Of modules and factories that name none, here; empty: it was set to one that is not known.
  DtypeSet default_dtype() const { return default_; }
  void set_default(DtypeSet dtype) { default_ = dtype; }
  void bind(const clang::ValueDecl* variable, int symbol) { state.bind({variable}, symbol); }
  void assign(const clang::Expr* to, int symbol);
  // The variable or field that holds a module, through pointers and holders.
  bool module_key(const clang::Expr* expr, Key& key) const;
  // The same of a value that is one itself: in Net(config) a constructor of one argument is not
  // looked through.
  bool names_module(const clang::Expr* value, Key& key) const;
  // The variable or field that an expression names.
  bool object_key(const clang::Expr* expr, Key& key) const {
    TensorSource source;
    return key_of(expr, key, source);
  }
  // How a constructor registers a tensor of a module: as a parameter of the dtype that the module
  // has, or as a buffer, or with a dtype of its own, which casts change too.
  enum class Registered { kNot, kAsModule, kOther };
  Registered registered(const clang::FieldDecl* field) const;
  // The symbol of the dtype of a module's parameters; -1: not known.
  int module(const clang::Expr* expr) const;
  // Another name of a module: a reference, a copy of its holder, a parameter. An empty key: of none
  // that is known.
  void set_alias(const clang::ValueDecl* name, const Key& module) {
    module.empty() ? void(aliases_.erase(name)) : void(aliases_[name] = module);
  }
  // The class that an object was made of, whatever its pointer's is. Null: not known.
  void set_class(const Key& object, const clang::CXXRecordDecl* record);
  const clang::CXXRecordDecl* class_of(const Key& object) const;
  // What stands in a tuple, those inside of it one by one. Empty: not known.
  std::vector<int> elements(const clang::Expr* tuple);
  // std::tuple<Tensor, Tensor> both = x.max(1). False: it holds something else.
  bool bind_tuple(const Key& tuple, clang::QualType type, const clang::Expr* value);
  // An op of LibTorch that is called, by an operator, a method or a function; no op where it is
  // something else. Operands are named as the schema does, where the declaration tells.
  struct CalledOp {
    SourceOp op;
    std::vector<int> symbols;  // of the operands
  };
  CalledOp op(const clang::CallExpr* call);
  bool keeps_integers(const clang::CallExpr* call, const CalledOp& called) const;
  // Of a tensor of integers, or of Half or BFloat16: what it had before a cast that lost a part.
  // Nothing where its numbers were whole.
  struct Narrowed {
    Dtype from, to;
    Place cast;
    bool is_cast_itself = false;  // and not computed of what was cast
  };
  std::optional<Narrowed> narrowed(int symbol) const;
  bool is_whole(int symbol) const;  // floor(x), or cast from integers
  // What cross_entropy() calls where the target is one of classes, which has another contract than
  // one of probabilities: integers, or integers that were cast, unless they are one_hot()'s.
  void name_class_loss(CalledOp& called) const;
  // What one of several ways gives: a new symbol where all have the same dtype there; -1: not
  // known.
  struct Way {
    const DtypeState* end;
    int symbol;
  };
  int one_of(const std::vector<Way>& ways);
  // The symbol of its result; -1: it is not known what that is.
  int answer(const CalledOp& called, size_t result);
  // Since when a tensor has its dtype: of a result the operand that it has it from.
  Place origin(int symbol) const;
  // The dtype of the parameters of the module that the walk begins in, which other files know.
  void assume(int symbol) { assumed_ = symbol; }
  bool is_assumed(int symbol) const;
  void set_place(int symbol, Place place) { made_.at(symbol).place = std::move(place); }
  SourceOperand operand(std::string name, std::string text, int symbol) const;
  // torch::zeros({n}), without a dtype, and what variables held there.
  struct Factory {
    const clang::CallExpr* call;
    std::map<const void*, int> variables;
  };
  const Factory* factory_at(const Place& place) const;
  // The symbol of result number `number` of a call: indices of x.max(1).
  int result(const clang::Expr* expr, size_t number);

  // What a call that was walked through gave back.
  void remember(const clang::Expr* call, int symbol) { results_[call] = symbol; }
  void remember(const clang::Expr* call, std::vector<int> tuple) {
    tuples_[call] = std::move(tuple);
  }

  // The dtype or options among the arguments from `first` on; -1: none is given.
  int options_among(const clang::CallExpr* call, unsigned first);

  // A parameter of a function that is walked through stands for what is given.
  void bind_argument(const clang::ParmVarDecl* parameter, const clang::Expr* argument);

  // const bool is_half = x.dtype() == at::kHalf; auto pair = x.max(1): what a variable stands for
  // that holds neither a tensor nor a dtype. Null: it was written since, or is not known.
  const clang::Expr* named(const clang::Expr* expr) const;
  void set_named(const clang::ValueDecl* variable, const clang::Expr* value) {
    named_[variable] = value;
  }
  void forget_named(const clang::ValueDecl* variable) { named_.erase(variable); }

  // How deep conditions are nested in one another.
  class Depth {
   public:
    explicit Depth(Dtypes& dtypes) : depth_(dtypes.depth_) { ++depth_; }
    ~Depth() { --depth_; }
    Depth(const Depth&) = delete;
    bool is_beyond(int most) const { return depth_ > most; }

   private:
    int& depth_;
  };

  const clang::ASTContext& context() const { return context_; }
  TensorFact fact(const clang::Expr* expr);
  TensorFact fact_of(int symbol) const;
  // A factory is given a dtype, or options that have one.
  bool names_dtype(const clang::CallExpr* factory);
  std::string text(const clang::Expr* expr) const;
  TensorSource source(int symbol) const { return made_.at(symbol).source; }
  const std::string& name(int symbol) const { return made_.at(symbol).name; }

 private:
  struct Made {
    TensorSource source;
    std::string name;
    Place place;  // of the call that gave it
    int cast_from = -1;
    int from = -1;  // the operand that it has its dtype from
    bool is_one_hot = false;
    bool is_whole = false;
    bool is_position = false;
    bool names_none = false;  // options that have no dtype
  };
  std::string outside_tensor_like(int symbol) const;
  int tensor_of_call(const clang::CallExpr* call);
  DtypeSet default_dtype(const clang::CallExpr* call, llvm::StringRef name) const;
  int tensor_of(const clang::Expr* expr);
  int variable(const clang::Expr* expr);
  int layer_parameter(const clang::Expr* expr) const;
  int global_tensor(const clang::Expr* expr, const Key& key);
  bool is_assigned(const clang::VarDecl* global);
  int method_result(const MemberCall& call);
  int cast_result(const MemberCall& call);
  void add_numbers(CalledOp& called, const clang::CallExpr* call);
  void add_operand(CalledOp& called, const std::string& name, const clang::Expr* argument);
  int op_result(const clang::CallExpr* call, size_t result = 0);
  int function_result(const clang::CallExpr* call);
  int like(int symbol);  // another tensor of the same dtype
  bool key_of(const clang::Expr* expr, Key& key, TensorSource& source) const;
  int field_at_entry(const clang::MemberExpr* expr, const Key& key, int symbol);

  const clang::ASTContext& context_;
  std::vector<std::pair<int, std::string>> field_symbols_;  // of what fields held at the entry
  std::map<const clang::FieldDecl*, std::string> field_names_;
  std::map<std::string, int> iterators_;  // symbols of their dtypes, by their text
  std::vector<Made> made_;                // by symbol
  std::map<const clang::Expr*, int> results_;
  std::map<const clang::Expr*, std::vector<int>> tuples_;
  std::map<const clang::ValueDecl*, Key> aliases_;
  std::map<int, const clang::CXXRecordDecl*> classes_;  // by symbol
  std::map<const clang::ValueDecl*, const clang::Expr*> named_;
  std::optional<std::set<const clang::Decl*>> assigned_;  // of the file
  mutable std::map<const clang::FieldDecl*, Registered> registered_;
  std::map<Place, Factory> factories_;
  int assumed_ = -1;
  DtypeSet default_ = Dtype::kFloat;
  int depth_ = 0;
};

}  // namespace dtypecheck::analyzer
