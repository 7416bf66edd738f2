// modules.cpp: the part of the walk that follows the dtype of modules' parameters: what makes and
// casts a module, what it is called with, and what an optimizer steps.
#include <llvm/ADT/StringSwitch.h>

#include "analyzer/clang/functions.h"
#include "analyzer/clang/walk.h"

namespace dtypecheck::analyzer {

using namespace clang;

namespace {

// What a module of torch::nn calls with its input and its weight.
llvm::StringRef op_of_module(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Cases("LinearImpl", "LSTMCellImpl", "GRUCellImpl", "RNNCellImpl", "linear")
      .Cases("MultiheadAttentionImpl", "TransformerEncoderLayerImpl", "TransformerDecoderLayerImpl",
             "linear")
      .Cases("TransformerEncoderImpl", "TransformerDecoderImpl", "TransformerImpl", "linear")
      .Case("Conv1dImpl", "conv1d")
      .Case("Conv2dImpl", "conv2d")
      .Case("Conv3dImpl", "conv3d")
      .Case("ConvTranspose1dImpl", "conv_transpose1d")
      .Case("ConvTranspose2dImpl", "conv_transpose2d")
      .Case("ConvTranspose3dImpl", "conv_transpose3d")
      .Case("LayerNormImpl", "layer_norm")
      .Case("GroupNormImpl", "group_norm")
      .Cases("BatchNorm1dImpl", "BatchNorm2dImpl", "BatchNorm3dImpl", "batch_norm")
      .Case("EmbeddingImpl", "embedding")
      .Case("BilinearImpl", "bilinear")
      .Default("");
}

// So many tensors at its front meet its weights.
unsigned inputs_of_module(llvm::StringRef name) {
  return llvm::StringSwitch<unsigned>(name)
      .Case("MultiheadAttentionImpl", 3)
      .Cases("BilinearImpl", "TransformerDecoderLayerImpl", "TransformerDecoderImpl",
             "TransformerImpl", 2)
      .Default(1);
}

// With its input, a hidden state and weights.
llvm::StringRef op_of_recurrent(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("LSTMImpl", "lstm")
      .Case("GRUImpl", "gru")
      .Case("RNNImpl", "rnn_tanh")
      .Default("");
}

// With what a model gave and what it should have given.
llvm::StringRef op_of_loss(llvm::StringRef name) {
  return llvm::StringSwitch<llvm::StringRef>(name)
      .Case("BCELossImpl", "binary_cross_entropy")
      .Case("BCEWithLogitsLossImpl", "binary_cross_entropy_with_logits")
      .Case("CrossEntropyLossImpl", "cross_entropy_loss")
      .Case("HuberLossImpl", "huber_loss")
      .Case("KLDivLossImpl", "kl_div")
      .Case("L1LossImpl", "l1_loss")
      .Case("MSELossImpl", "mse_loss")
      .Case("NLLLossImpl", "nll_loss")
      .Case("SmoothL1LossImpl", "smooth_l1_loss")
      .Default("");
}

// It has no parameters, and gives back what it is given, as far as the dtype goes.
bool keeps_dtype(llvm::StringRef name) {
  return name.contains("Dropout") || name.contains("Pool") || name.contains("ReLU") ||
         name.contains("Pad") || name.contains("latten") || name.contains("Shuffle") ||
         name.contains("Softmax") || name.contains("Sigmoid") || name.contains("Tanh") ||
         name == "IdentityImpl" || name == "ELUImpl" || name == "SELUImpl" || name == "GELUImpl" ||
         name == "SiLUImpl" || name == "UpsampleImpl" || name == "SoftplusImpl";
}

bool is_list(const CXXRecordDecl* record) {
  const llvm::StringRef name = record->getIdentifier() == nullptr ? "" : record->getName();
  return is_torchs_own(record) && (name == "ModuleListImpl" || name == "SequentialImpl");
}

// The module that a call runs: net->forward(x), net(x).
const Expr* module_that_runs(const CallExpr* call) {
  const auto* op = dyn_cast<CXXOperatorCallExpr>(call);
  if (op != nullptr && op->getOperator() == OO_Call &&
      is_module_or_holder(op->getArg(0)->getType())) {
    return op->getArg(0);
  }
  const auto member = member_call(call);
  const bool runs = member && member->name == "forward" &&
                    (is_module(member->base->getType()) || is_any_module(member->base->getType()));
  return runs ? member->base : nullptr;
}

// layers[0], which is known by its list: what casts it makes the others unknown.
bool names_element(const Expr* module) {
  bool found = false;
  for_each_expr(module, [&](const Expr* one) {
    const auto* op = dyn_cast<CXXOperatorCallExpr>(one);
    const auto* name = dyn_cast<DeclRefExpr>(one);
    const auto* variable = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
    const bool has_value = variable != nullptr && variable->isLocalVarDecl() &&
                           variable->hasInit() && is_module_or_holder(variable->getType());
    found = found || (op != nullptr && op->getOperator() == OO_Subscript) ||
            (has_value && names_element(variable->getInit()));
  });
  return found;
}

// Nothing is in it yet.
bool is_empty_holder(const Expr* expr) {
  const auto* made = dyn_cast<CXXConstructExpr>(expr->IgnoreImplicit());
  return made != nullptr && made->getNumArgs() > 0 &&
         stripped(made->getArg(0))->getType()->isNullPtrType();
}

const CXXMethodDecl* forward_of(const CXXRecordDecl* record) {
  const CXXMethodDecl* forward = nullptr;
  for (const CXXMethodDecl* method : record->methods()) {
    if (forward == nullptr && name_of(method->getDeclName()) == "forward") forward = method;
  }
  return forward;
}

// Square::apply(x, w) of a custom autograd function, whose forward() is given a context before
// these.
const FunctionDecl* forward_of_apply(const FunctionDecl* callee) {
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
  const auto* base =
      method == nullptr ? nullptr : dyn_cast<ClassTemplateSpecializationDecl>(method->getParent());
  if (base == nullptr || name_of(callee->getDeclName()) != "apply" || !is_libtorchs(callee) ||
      base->getTemplateArgs().size() == 0 || base->getName() != "Function" ||
      base->getTemplateArgs()[0].getKind() != TemplateArgument::Type)
    return nullptr;
  const CXXRecordDecl* own = base->getTemplateArgs()[0].getAsType()->getAsCXXRecordDecl();
  if (own == nullptr || !own->hasDefinition()) return nullptr;
  return forward_of(own);
}

}  // namespace

// The function that a call ends in: net(x) on a holder is its operator(), a template of LibTorch's,
// and what runs is forward() of the module that it holds.
const FunctionDecl* Walk::called_by(const CallExpr* call) const {
  const FunctionDecl* callee = call->getDirectCallee();
  const Expr* module = isa<CXXOperatorCallExpr>(call) ? module_that_runs(call) : nullptr;
  const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
  const CXXMethodDecl* run =
      record == nullptr || !record->hasDefinition() ? nullptr : forward_of(record);
  if (run != nullptr) callee = run;
  if (const FunctionDecl* forward = forward_of_apply(callee)) callee = forward;
  return callee;
}

// The same where this file defines it.
const FunctionDecl* Walk::body_of(const CallExpr* call) const {
  const FunctionDecl* callee = called_by(call);
  return callee == nullptr ? nullptr : callee->getDefinition();
}

// A function of an object other than *this; the key is empty where it is not known which.
bool Walk::calls_other_object(const CallExpr* call, Key& key) const {
  const Expr* object = module_that_runs(call);
  const auto member = member_call(call);
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(call->getDirectCallee());
  if (object == nullptr && member && (method == nullptr || !method->isStatic()))
    object = member->base;
  if (object == nullptr || isa<CXXThisExpr>(stripped(object))) return false;
  if (!dtypes_.module_key(object, key)) key.clear();
  return true;
}

// A cast of a module is one of what it registered of floating numbers, too. -1: to what is not
// known.
void Walk::cast_module(const Key& module, int symbol) {
  State& state = dtypes_.state;
  for (const auto& [key, held] : state.fields_of(module)) {
    if (State::is_element(key.back())) continue;
    const auto* field = static_cast<const FieldDecl*>(static_cast<const Decl*>(key.back()));
    if (!is_tensor(field->getType()) || !state.dtypes(held).intersects(kFloating | kComplex) ||
        dtypes_.registered(field) == Dtypes::Registered::kNot)
      continue;
    const bool is_known = symbol >= 0 && state.dtypes(held).within(kFloating);
    state.bind(key, is_known ? symbol : dtypes_.make(TensorSource::kMember, kAnyDtype));
  }
  state.cast_module(module, symbol);
}

// net->to(torch::kHalf)
void Walk::module_cast(const CallExpr* call) {
  const auto member = member_call(call);
  if (!member || member->name != "to" || !is_module(member->base->getType())) return;
  Key key;
  const int symbol = dtypes_.options_among(call, 0);
  if (symbol < 0 || !dtypes_.module_key(member->base, key)) return;
  if (names_element(member->base)) return cast_module(key, -1);
  const int own = dtypes_.make(TensorSource::kMade, dtypes_.state.dtypes(symbol));
  dtypes_.set_place(own, place_of(context_, call->getExprLoc()));
  cast_module(key, own);
}

// An object that a function takes by reference or pointer, and may change.
static bool may_be_written(const FunctionDecl* callee, unsigned argument, bool has_object) {
  const unsigned at =
      has_object && isa_and_nonnull<CXXMethodDecl>(callee) ? argument - 1 : argument;
  if (callee == nullptr || at >= callee->getNumParams()) return true;
  const QualType type = callee->getParamDecl(at)->getType();
  return (type->isReferenceType() || type->isPointerType()) &&
         !type->getPointeeType().isConstQualified();
}

// torch::load(net, path), cast_all(net): whatever is given a module and is not seen may cast it,
// but for what LibTorch has to register, save and show it.
void Walk::module_given(const CallExpr* call) {
  const auto* callee = dyn_cast_or_null<FunctionDecl>(call->getCalleeDecl());
  const auto member = member_call(call);
  const llvm::StringRef name = callee != nullptr ? name_of(callee->getDeclName())
                               : member          ? member->name
                                                 : "";
  const bool is_of_library = callee != nullptr &&
                             (is_libtorchs(callee) || callee->isInStdNamespace()) &&
                             name != "load" && name != "apply";
  if (is_of_library) return;
  // What was saved of a module in Float is Float again, and what other files do with it they say.
  const auto given = [&](const Key& key) {
    const int known = dtypes_.state.module_at(key);
    const bool is_float = known >= 0 && dtypes_.state.dtypes(known) == DtypeSet(Dtype::kFloat);
    cast_module(key, is_float ? dtypes_.state.entry_module() : -1);
  };
  const bool has_object = isa<CXXOperatorCallExpr>(call);
  for (unsigned i = has_object ? 1 : 0; i < call->getNumArgs(); ++i) {
    const Expr* argument = stripped(call->getArg(i));
    Key key;
    if (is_module_or_holder(argument->getType()) && dtypes_.module_key(argument, key))
      given(key);
    else if ((callee == nullptr || is_ours(callee->getLocation())) &&
             may_be_written(callee, i, has_object) && dtypes_.object_key(argument, key))
      dtypes_.state.forget_object(key, true);
  }
  // net.cast_all(), memory.add(x), whose body is elsewhere.
  Key key;
  const auto* method = dyn_cast_or_null<CXXMethodDecl>(callee);
  if (member && method != nullptr && is_ours(method->getLocation()) && !method->isConst() &&
      !method->isStatic() && !is_module(member->base->getType()) &&
      !isa<CXXThisExpr>(stripped(member->base)) && dtypes_.module_key(member->base, key))
    dtypes_.state.forget_object(key, true);
  if (member && is_module(member->base->getType()) && callee != nullptr &&
      name_of(callee->getDeclName()) != "forward" && dtypes_.module_key(member->base, key) &&
      !isa<CXXThisExpr>(stripped(member->base)))
    given(key);
}

// A constructor of it, or of what it is made from, casts.
bool Walk::casts_itself(const CXXRecordDecl* record) {
  if (record == nullptr || !record->hasDefinition() || is_torchs_own(record)) return false;
  const auto [known, is_new] = casts_itself_.try_emplace(record, false);
  if (!is_new) return known->second;
  bool casts = false;
  for (const CXXConstructorDecl* made : record->ctors()) {
    const FunctionDecl* body = made->getDefinition();
    if (body == nullptr || !body->hasBody()) continue;
    for_each_expr(body->getBody(), [&](const Expr* one) {
      const auto member = member_call(one);
      casts = casts || (member && member->name == "to" && is_module(member->base->getType()) &&
                        dtypes_.names_dtype(member->call));
    });
  }
  for (const FieldDecl* field : record->fields())
    casts = casts || casts_itself(held_module(field->getType()));
  for (const CXXBaseSpecifier& base : record->bases())
    casts = casts || casts_itself(base.getType()->getAsCXXRecordDecl());
  return casts_itself_[record] = casts;
}

// The dtype of what an expression makes, whose parameters are Float until it is cast. -1: not
// known, or it makes no module.
int Walk::module_of(const Expr* expr) {
  const CXXRecordDecl* record = held_module(expr->getType());
  if (record == nullptr) return -1;
  Key key;
  if (dtypes_.names_module(expr, key)) return dtypes_.state.module_at(key);
  if (const auto* call = dyn_cast<CallExpr>(made_or_named(expr))) {
    if (const Expr* module = registered_module(call)) return module_of(module);
  }
  for (expr = expr->IgnoreImplicit();;) {
    if (const auto* cast = dyn_cast<CXXFunctionalCastExpr>(expr)) {
      expr = cast->getSubExpr()->IgnoreImplicit();
      continue;
    }
    const auto* made = dyn_cast<CXXConstructExpr>(expr);
    const bool passes = made != nullptr && made->getNumArgs() == 1 &&
                        is_module_or_holder(made->getArg(0)->getType()) &&
                        held_module(made->getArg(0)->getType()) == record;
    if (!passes) break;
    expr = made->getArg(0)->IgnoreImplicit();
  }
  if (dtypes_.names_module(expr, key)) return dtypes_.state.module_at(key);
  if (const auto* call = dyn_cast<CallExpr>(expr)) {
    if (!dtypes_.state.is_of_whole({call})) return dtypes_.state.module_at({call});
    const llvm::StringRef name = called_name(call);
    if (name != "make_shared" && name != "make_unique")
      return is_jit(record) ? -1 : dtypes_.state.entry_module();
  } else if (!isa<CXXConstructExpr>(expr) && !isa<CXXNewExpr>(expr) && !isa<InitListExpr>(expr)) {
    return is_jit(record) ? -1 : dtypes_.state.entry_module();  // dynamic_cast<Net*>(…)
  } else if (is_empty_holder(expr)) {
    return -1;
  }
  const DtypeSet dtype = dtypes_.default_dtype();
  if (dtype.empty() || is_jit(record) || casts_itself(record)) return -1;
  return dtypes_.make(TensorSource::kMade, dtype);
}

// Sequential all(*block): a list of one, and no other name of it.
static bool is_list_of(const VarDecl* variable, const Expr* value) {
  const CXXRecordDecl* record = held_module(variable->getType());
  return record != nullptr && record->getIdentifier() != nullptr &&
         record->getName() == "SequentialImpl" && held_module(value->getType()) != record;
}

// Net net; auto net = std::make_shared<Net>(); Net& same = *net;
void Walk::module_made(const VarDecl* variable) {
  const QualType type = variable->getType();
  if (variable->getInit() == nullptr || !is_module_or_holder(type)) return;
  Key from;
  const bool is_other_name = type->isReferenceType() || !is_module(type) || type->isPointerType();
  const Expr* value = stripped(variable->getInit());
  const bool is_of_variable = !is_list_of(variable, value) && dtypes_.names_module(value, from);
  dtypes_.set_alias(variable, is_of_variable && is_other_name ? from : Key());
  const Key key = {variable->getCanonicalDecl()};
  if (is_of_variable)
    dtypes_.state.copy_module(from, key);
  else
    module_set(key, variable->getInit());
}

// A variable or field holds the module that an expression names, or makes: of what its constructor
// casts that says the dtype.
void Walk::module_set(const Key& module, const Expr* value) {
  Key from;
  if (const Expr* named = registered_module(dyn_cast<CallExpr>(made_or_named(value))))
    return module_set(module, named);
  if (dtypes_.names_module(value, from)) return dtypes_.state.copy_module(from, module);
  if (const auto* call = dyn_cast<CallExpr>(made_or_named(value));
      call != nullptr && !dtypes_.state.is_of_whole({call}))
    return dtypes_.state.copy_module({call}, module);
  const auto making = making_of(value);
  if (making && making->given.empty() && is_list(making->record))
    return dtypes_.state.empty_list(module);
  dtypes_.state.cast_module(module, module_of(value));
  if (!making || is_torchs_own(making->record) || is_jit(making->record)) return;
  const bool casts = casts_itself(making->record);
  const DtypeSet dtype = dtypes_.default_dtype();
  if (casts && !dtype.empty())
    dtypes_.state.cast_module(module, dtypes_.make(TensorSource::kMade, dtype));
  if (!construct(module, value) && casts) dtypes_.state.cast_module(module, -1);
}

// layers->push_back(layer): a list of modules has the dtype of all that are in it.
void Walk::module_added(const CallExpr* call) {
  const auto member = member_call(call);
  Key list;
  if (!member || member->name != "push_back" || call->getNumArgs() == 0 ||
      !is_module_or_holder(member->base->getType()) || !dtypes_.module_key(member->base, list))
    return;
  const Expr* value = call->getArg(call->getNumArgs() - 1);
  if (!is_module_or_holder(value->getType())) return;
  const Key added = {call};
  module_set(added, value);
  State& state = dtypes_.state;
  const int before = state.module_at(list), after = state.module_at(added);
  if (state.is_of_whole(list)) return state.copy_module(added, list);
  const bool agrees = before >= 0 && after >= 0 && state.dtypes(before) == state.dtypes(after) &&
                      !state.has_cast_part(added);
  if (!agrees) state.cast_module(list, -1);
}

void Walk::module_bound(const ParmVarDecl* parameter, const Expr* argument) {
  if (!is_module_or_holder(parameter->getType())) return;
  Key key;
  const bool is_known = dtypes_.names_module(argument, key);
  // In a function of another object *this is that one.
  const bool is_of_this = is_known && key.front() == nullptr;
  dtypes_.set_alias(parameter, is_known && !is_of_this ? key : Key());
  if (!is_known || is_of_this)
    dtypes_.state.cast_module({parameter}, is_of_this ? -1 : module_of(argument));
}

namespace {

// Looks for what a Sequential is made of: where it is made, assigned, given layers, or given to a
// function that does, in this order.
class Layers {
 public:
  explicit Layers(Dtypes& dtypes) : dtypes_(dtypes) {}

  // In the order in which they run, without those that keep the dtype. Null: one that is not known.
  std::vector<const CXXRecordDecl*> found;

  // What makes layers.
  void look(const Stmt* made) {
    if (made == nullptr) return;
    const auto* one = dyn_cast<Expr>(made);
    const auto* call = dyn_cast<CallExpr>(made);
    if (call != nullptr && look_in_body(call->getDirectCallee())) return;
    // Made here, or before: Sequential(*blocks), Sequential(first, torch::nn::ReLU()).
    const auto* deref = dyn_cast<UnaryOperator>(made);
    const bool is_named = (deref != nullptr && deref->getOpcode() == UO_Deref) ||
                          (one != nullptr && (isa<DeclRefExpr>(one) || isa<MemberExpr>(one)));
    const bool is_made =
        isa<CXXConstructExpr>(made) || (call != nullptr && called_name(call).starts_with("make_"));
    const CXXRecordDecl* record = is_named || is_made ? held_module(one->getType()) : nullptr;
    const llvm::StringRef name =
        record == nullptr || record->getIdentifier() == nullptr ? "" : record->getName();
    if (!name.empty() && name != "SequentialImpl") return add(record, one);
    for (const Stmt* child : made->children()) look(child);
  }

  // What is done with the variable, field or parameter that holds it.
  void look_at_uses(const Stmt* body, const Decl* holder, int depth = 0) {
    if (depth > kMaxDepth) return;
    for_each_expr(body, [&](const Expr* one) {
      const auto* op = dyn_cast<CXXOperatorCallExpr>(one);
      const auto* call = dyn_cast<CallExpr>(one);
      if (call == nullptr) return;
      if (op != nullptr) {
        if (op->getOperator() != OO_Equal || !names(op->getArg(0), holder)) return;
        look(op->getArg(1));
        look_at_variable(op->getArg(1), body, depth);
        return;
      }
      const auto member = member_call(call);
      const bool adds = member && member->name == "push_back" && names(member->base, holder);
      const FunctionDecl* callee = call->getDirectCallee();
      const FunctionDecl* given_to = callee == nullptr ? nullptr : callee->getDefinition();
      for (unsigned i = 0; i < call->getNumArgs(); ++i) {
        if (adds) look(call->getArg(i));
        if (given_to != nullptr && given_to->hasBody() && i < given_to->getNumParams() &&
            names(call->getArg(i), holder))
          look_at_uses(given_to->getBody(), given_to->getParamDecl(i), depth + 1);
      }
    });
  }

 private:
  static constexpr int kMaxDepth = 3;

  void add(const CXXRecordDecl* record, const Expr* made) {
    if (keeps_dtype(record->getName())) return;
    bool is_of_lambda = false;
    for_each_expr(made, [&](const Expr* one) { is_of_lambda |= isa<LambdaExpr>(one); });
    if (record->getName() == "FunctionalImpl" && !is_of_lambda) return;
    const bool is_known = !is_torchs_own(record) || !op_of_module(record->getName()).empty();
    found.push_back(is_known ? record : nullptr);
  }
  bool names(const Expr* expr, const Decl* holder) const {
    Key key;
    return (is_module_or_holder(expr->getType()) || is_any_module(expr->getType())) &&
           dtypes_.module_key(expr, key) && static_cast<const Decl*>(key.back()) == holder;
  }
  // conv = register_module("conv", block), where the function filled block.
  void look_at_variable(const Expr* value, const Stmt* body, int depth) {
    for_each_expr(value, [&](const Expr* one) {
      const auto* name = dyn_cast<DeclRefExpr>(one);
      const auto* variable = name == nullptr ? nullptr : dyn_cast<VarDecl>(name->getDecl());
      const bool is_list = variable != nullptr && variable->isLocalVarDecl() &&
                           is_module_or_holder(variable->getType());
      if (!is_list) return;
      look(variable->getInit());
      look_at_uses(body, variable, depth + 1);
    });
  }
  // A function that makes and returns one.
  bool look_in_body(const FunctionDecl* function) {
    const FunctionDecl* body = function == nullptr ? nullptr : function->getDefinition();
    if (body == nullptr || !body->hasBody() || body->isInStdNamespace() ||
        !is_of_project(body->getASTContext(), body->getLocation()) || depth_ > kMaxDepth ||
        !is_module_or_holder(body->getReturnType()))
      return false;
    ++depth_;
    for_each_expr(body->getBody(), [&](const Expr* one) {
      const auto* call = dyn_cast<CallExpr>(one);
      const auto member = call == nullptr ? std::nullopt : member_call(call);
      for (unsigned i = 0; member && member->name == "push_back" && i < call->getNumArgs(); ++i)
        look(call->getArg(i));
    });
    look_at_returned(body->getBody());
    --depth_;
    return true;
  }
  void look_at_returned(const Stmt* stmt) {
    if (stmt == nullptr) return;
    if (const auto* returns = dyn_cast<ReturnStmt>(stmt)) return look(returns->getRetValue());
    for (const Stmt* child : stmt->children()) look_at_returned(child);
  }

  Dtypes& dtypes_;
  int depth_ = 0;
};

}  // namespace

std::vector<const CXXRecordDecl*> Walk::layers_of(const Expr* module) {
  Key key;
  Layers layers(dtypes_);
  if (!dtypes_.module_key(module, key)) return {};
  const auto* holder = static_cast<const Decl*>(key.back());
  if (const auto* variable = dyn_cast_or_null<VarDecl>(holder)) {
    layers.look(variable->getInit());
    if (layers.found.empty()) layers.look_at_uses(stack_.back()->getBody(), variable);
  } else if (const auto* field = dyn_cast_or_null<FieldDecl>(holder)) {
    layers.look(field->getInClassInitializer());
    for (const CXXConstructorDecl* one : cast<CXXRecordDecl>(field->getParent())->ctors()) {
      const auto* body = dyn_cast_or_null<CXXConstructorDecl>(one->getDefinition());
      if (body == nullptr || !layers.found.empty()) continue;
      for (const CXXCtorInitializer* init : body->inits()) {
        if (init->isWritten() && init->getAnyMember() == field) layers.look(init->getInit());
      }
      if (body->hasBody()) layers.look_at_uses(body->getBody(), field);
    }
  }
  return std::move(layers.found);
}

// What the layers of a Sequential make of its input one after the other; of an AnyModule, what each
// makes of it that it may hold.
void Walk::run_layers(const CallExpr* call, const Expr* module, const Input& given) {
  std::vector<const CXXRecordDecl*> layers = layers_of(module);
  Key key;
  const bool is_known = dtypes_.module_key(module, key) && key.back() != nullptr;
  const bool is_one =
      is_known &&
      is_any_module(static_cast<const ValueDecl*>(static_cast<const Decl*>(key.back()))->getType());
  std::vector<Dtypes::Way> results;
  Input input = given;
  if (layers.empty()) layers.push_back(nullptr);
  for (const CXXRecordDecl* layer : layers) {
    const int result = run_one(call, layer, module, input);
    results.push_back({&dtypes_.state, result});
    if (is_one) continue;
    input = {result >= 0 ? result : dtypes_.make(TensorSource::kOther, kAnyDtype),
             "the result of a layer"};
  }
  if (is_one) input.symbol = dtypes_.one_of(results);
  if (input.symbol >= 0) dtypes_.remember(call, input.symbol);
}

// The symbol of its result; -1: not known.
int Walk::run_one(const CallExpr* call, const CXXRecordDecl* layer, const Expr* module,
                  const Input& input) {
  if (layer != nullptr && !is_torchs_own(layer)) {
    if (const auto result = run_block(call, layer, module, input)) return *result;
  } else if (layer != nullptr) {
    return run_layer(call, layer->getName(), module, {input});
  }
  // Whatever its layers are: some have weights, as a rule, and none casts.
  const bool is_floating = dtypes_.state.dtypes(input.symbol).within(kFloating);
  return is_floating && dtypes_.module(module) >= 0 ? run_layer(call, "LinearImpl", module, {input})
                                                    : -1;
}

// forward() of a block of the program's own, in the state of the list that it is in. Empty: it is
// not seen.
std::optional<int> Walk::run_block(const CallExpr* call, const CXXRecordDecl* block,
                                   const Expr* module, const Input& input) {
  const FunctionDecl* forward = forward_of(block);
  want_body(forward);
  forward = forward == nullptr ? nullptr : forward->getDefinition();
  if (forward == nullptr || !forward->hasBody() || forward->getNumParams() == 0 ||
      is_too_deep(forward))
    return std::nullopt;
  for (unsigned i = 1; i < forward->getNumParams(); ++i) {
    if (const Expr* left_out = forward->getParamDecl(i)->getDefaultArg())
      bind_parameter(forward->getParamDecl(i), left_out);
  }
  dtypes_.bind(forward->getParamDecl(0), input.symbol);
  Key list;
  if (!dtypes_.module_key(module, list)) list.clear();
  std::vector<int> values;
  inside(forward, {place_of(context_, call->getBeginLoc()), nullptr, 0}, &list,
         [&] { values = run_body(forward->getBody(), nullptr); });
  return values.size() == 1 && dtypes_.state.knows(values[0]) ? values[0] : -1;
}

// module.forward({x}) of a TorchScript program that was cast: its layers have that dtype, and are
// given x, where that is of floating numbers.
void Walk::run_program(const CallExpr* call, const Expr* module) {
  const int symbol = dtypes_.module(module);
  if (symbol < 0 || call->getNumArgs() == 0) return;
  const auto* name = dyn_cast<DeclRefExpr>(stripped(call->getArg(0)));
  std::vector<const Expr*> inputs;
  if (const auto given = program_inputs_.find(name == nullptr ? nullptr : name->getDecl());
      given != program_inputs_.end()) {
    inputs = given->second;
  } else if (name == nullptr) {
    for_each_expr(call->getArg(0), [&](const Expr* one) {
      const auto* made = dyn_cast<CXXConstructExpr>(one);
      if (made != nullptr && made->getNumArgs() == 1 && is_tensor(made->getArg(0)->getType()) &&
          !is_tensor(made->getType()))
        inputs.push_back(made->getArg(0));
    });
  }
  // One of them fits, perhaps that of another branch.
  if (llvm::any_of(inputs, [&](const Expr* input) {
        return dtypes_.state.dtypes(dtypes_.tensor(input)).intersects(dtypes_.state.dtypes(symbol));
      }))
    return;
  for (const Expr* input : inputs) {
    const int tensor = dtypes_.tensor(input);
    if (!dtypes_.state.dtypes(tensor).within(kFloating)) continue;
    SourceOp op = {.place = place_of(context_, call->getExprLoc()), .function = function_};
    op.op = "linear";
    op.operands = {dtypes_.operand("input", dtypes_.text(stripped(input)), tensor),
                   dtypes_.operand("weight", dtypes_.text(stripped(module)), symbol)};
    return add_op(std::move(op));
  }
}

// inputs.push_back(x) of a list that a program is given.
void Walk::input_added(const CallExpr* call) {
  const auto member = member_call(call);
  if (!member) return;
  const auto* list = dyn_cast<DeclRefExpr>(stripped(member->base));
  if (list == nullptr || is_tensor_list(list->getType())) return;
  const bool adds = member->name == "push_back" || member->name == "emplace_back";
  const Expr* input = call->getNumArgs() == 1 ? stripped(call->getArg(0)) : nullptr;
  if (adds && input != nullptr && is_tensor(input->getType()))
    program_inputs_[list->getDecl()].push_back(input);
  if (member->name == "clear") program_inputs_.erase(list->getDecl());
}

void Walk::module_run(const CallExpr* call) {
  const Expr* module = module_that_runs(call);
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  if (module == nullptr || call->getNumArgs() <= first) return;
  const CXXRecordDecl* record = held_module(module->getType());
  if (record != nullptr && is_jit(record) && !autocast_) return run_program(call, module);
  const bool is_any = is_any_module(module->getType());
  const bool is_own =
      record != nullptr && record->getIdentifier() != nullptr && is_torchs_own(record);
  const Expr* argument = call->getArg(first);
  const bool is_given_tensor =
      is_tensor(stripped(argument)->getType()) || is_tensor(argument->getType());
  if ((!is_any && !is_own) || !is_given_tensor) return;
  const llvm::StringRef name = is_any ? "" : record->getName();
  std::vector<Input> inputs;
  for (unsigned i = first; i < call->getNumArgs() && i < first + inputs_of_module(name); ++i) {
    const Expr* one = call->getArg(i);
    inputs.push_back({dtypes_.tensor(one), dtypes_.text(stripped(one))});
  }
  if (is_any || name == "SequentialImpl") {
    run_layers(call, module, inputs.front());
  } else if (!op_of_module(name).empty()) {
    const int result = run_layer(call, name, module, inputs);
    if (result >= 0) dtypes_.remember(call, result);
  } else if (!op_of_recurrent(name).empty()) {
    run_recurrent(call, op_of_recurrent(name), module);
  } else if (!op_of_loss(name).empty()) {
    run_loss(call, op_of_loss(name));
  } else if (keeps_dtype(name)) {
    dtypes_.remember(call, inputs.front().symbol);
  }
}

static std::string without_arrow(std::string name) {
  while (llvm::StringRef(name).ends_with("->")) name.resize(name.size() - 2);
  return name;
}

// The symbol of its result; -1: not known.
int Walk::run_layer(const CallExpr* call, llvm::StringRef layer, const Expr* module,
                    const std::vector<Input>& given) {
  SourceOp op = {.place = place_of(context_, call->getExprLoc()), .function = function_};
  op.op = op_of_module(layer).str();
  const int symbol = dtypes_.module(module);
  // Of a module that is not known no more than that its weights are no integers.
  SourceOperand weight = {.name = "weight", .dtypes = kFloating | kComplex};
  if (symbol >= 0) weight = dtypes_.operand("weight", "", symbol);
  const CXXRecordDecl* record = held_module(module->getType());
  const bool is_layer = record != nullptr && op_of_module(record->getName()) == op.op;
  weight.text =
      without_arrow(dtypes_.text(stripped(module))) + (is_layer ? "->weight" : "->parameters()[0]");
  std::vector<SourceOperand> inputs;
  for (const Input& one : given) inputs.push_back(dtypes_.operand("input", one.text, one.symbol));
  // Of an input that is not known nothing else would be taken.
  const DtypeSet dtypes = inputs.front().dtypes;
  const bool is_taken = op.op == "embedding" || dtypes == weight.dtypes ||
                        (!dtypes.single() && dtypes.intersects(weight.dtypes));
  const auto add = [&](std::vector<SourceOperand> operands, int tensor) {
    op.operands = std::move(operands);
    if (weight.is_assumed) add_layer_input(op, tensor);
    add_op(op);
  };
  if (op.op == "embedding") {
    inputs.front().name = "indices";
    add({weight, inputs.front()}, given.front().symbol);
  } else if (op.op == "bilinear" && inputs.size() == 2) {
    inputs[0].name = "input1";
    inputs[1].name = "input2";
    add({inputs[0], inputs[1], weight}, given.front().symbol);
  } else {
    for (size_t i = 0; i < inputs.size(); ++i) add({inputs[i], weight}, given[i].symbol);
  }
  const bool is_norm = op.op.ends_with("_norm");  // gives what it is given
  return is_norm && dtypes.single() ? given.front().symbol : is_taken ? symbol : -1;
}

void Walk::run_recurrent(const CallExpr* call, llvm::StringRef name, const Expr* module) {
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  const int symbol = dtypes_.module(module);
  if (symbol < 0) return;
  SourceOp op = {.place = place_of(context_, call->getExprLoc()), .function = function_};
  op.op = name.str();
  const Expr* input = call->getArg(first);
  const int tensor = dtypes_.tensor(input);
  op.operands.push_back(dtypes_.operand("input", dtypes_.text(stripped(input)), tensor));
  const bool has_state =
      call->getNumArgs() > first + 1 && !isa<CXXDefaultArgExpr>(call->getArg(first + 1));
  const std::vector<int> states =
      has_state ? dtypes_.elements(call->getArg(first + 1)) : std::vector<int>();
  const std::string text = states.empty() ? "" : dtypes_.text(stripped(call->getArg(first + 1)));
  int state = tensor;  // without one the layer makes it as the input is
  for (const int one : states) {
    if (state == tensor || dtypes_.state.dtypes(one) != dtypes_.state.dtypes(tensor)) state = one;
  }
  // The tables have one dtype for a list: the odd one's.
  op.operands.push_back(
      dtypes_.operand(name == "lstm" ? "hx[0]" : "hx", text.empty() ? "hx" : text, state));
  SourceOperand weight = dtypes_.operand("params[0]", "", symbol);
  weight.text = without_arrow(dtypes_.text(stripped(module))) + "->all_weights()";
  const DtypeSet given = dtypes_.state.dtypes(tensor);
  const bool agrees =
      given == weight.dtypes || (!given.single() && given.intersects(weight.dtypes));
  op.operands.push_back(std::move(weight));
  if (op.operands.back().is_assumed) add_layer_input(op, tensor);
  if (agrees) dtypes_.remember(call, symbol);
  add_op(std::move(op));
}

// What the caller in another file gives comes here as it is.
void Walk::add_layer_input(SourceOp op, int tensor) {
  const int parameter = parameter_of(tensor);
  if (parameter < 0 || dtypes_.state.dtypes(tensor) != kAnyDtype || autocast_) return;
  for (SourceOperand& operand : op.operands) {
    if (!operand.is_assumed) operand.parameter = parameter;
  }
  op.assumes = assumption();
  if (op.place.line > 0 && ops_.insert({op.place, op.op + " of a parameter"}).second)
    facts_.layer_inputs.push_back(std::move(op));
}

// model->forward(x), or another function of a model, whose body is in another file.
void Walk::module_called_outside(const CallExpr* call) {
  const Expr* module = module_that_runs(call);
  const auto member = member_call(call);
  if (module == nullptr && member && is_module(member->base->getType())) module = member->base;
  const CXXRecordDecl* record = module == nullptr ? nullptr : held_module(module->getType());
  if (record == nullptr || is_torchs_own(record) || is_jit(record) || autocast_) return;
  const FunctionDecl* forward = member ? call->getDirectCallee() : nullptr;
  if (forward == nullptr) forward = forward_of(record);
  if (forward == nullptr || forward->hasBody() || is_libtorchs(forward)) return;
  SourceOp op = {.place = place_of(context_, call->getExprLoc()), .function = function_};
  op.op = outside_name(forward);
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  for (unsigned i = first; i < call->getNumArgs(); ++i) {
    const Expr* argument = call->getArg(i);
    if (!is_tensor(stripped(argument)->getType()) && !is_tensor(argument->getType())) continue;
    op.operands.push_back(
        dtypes_.operand("input", dtypes_.text(stripped(argument)), dtypes_.tensor(argument)));
    op.operands.back().parameter = static_cast<int>(i - first);
  }
  Key key;
  const bool is_one = dtypes_.module_key(module, key) && !dtypes_.state.has_cast_part(key);
  const int symbol = is_one ? dtypes_.module(module) : -1;
  SourceOperand weight = {.name = "weight", .dtypes = kAnyDtype};
  if (symbol >= 0) weight = dtypes_.operand("weight", "", symbol);
  weight.text = without_arrow(dtypes_.text(stripped(module)));
  op.operands.push_back(std::move(weight));
  for (SourceOperand& operand : op.operands) {
    if (operand.made.line == op.place.line) operand.made = {};
    if (operand.is_assumed) op.assumes = assumption();
  }
  if (op.place.line > 0 && ops_.insert({op.place, op.op}).second)
    facts_.module_calls.push_back(std::move(op));
}

void Walk::run_loss(const CallExpr* call, llvm::StringRef name) {
  const unsigned first = isa<CXXOperatorCallExpr>(call) ? 1 : 0;
  if (call->getNumArgs() < first + 2) return;
  Dtypes::CalledOp called;
  called.op = {.place = place_of(context_, call->getExprLoc()), .function = function_};
  called.op.op = name.str();
  for (unsigned i = 0; i < 2; ++i) {
    const Expr* argument = call->getArg(first + i);
    called.symbols.push_back(dtypes_.tensor(argument));
    called.op.operands.push_back(dtypes_.operand(
        i == 0 ? "self" : "target", dtypes_.text(stripped(argument)), called.symbols.back()));
  }
  dtypes_.name_class_loss(called);
  const int answer = dtypes_.answer(called, 0);
  if (answer >= 0) dtypes_.remember(call, answer);
  add_op(std::move(called.op));
}

// torch::optim::Adam(net->parameters(), …) over a module that was cast: what its step will write.
void Walk::optimizer_of(const CXXConstructExpr* made) {
  const std::string type = made->getConstructor()->getParent()->getQualifiedNameAsString();
  if (!llvm::StringRef(type).starts_with("torch::optim::") || made->getNumArgs() == 0) return;
  const auto* call = dyn_cast<CallExpr>(stripped(made->getArg(0)));
  const auto member = call == nullptr ? std::nullopt : member_call(call);
  if (!member || member->name != "parameters" || !is_module(member->base->getType())) return;
  const int symbol = dtypes_.module(member->base);
  if (symbol < 0 || dtypes_.state.dtypes(symbol) != DtypeSet(Dtype::kHalf)) return;
  SourceOp op = {
      .place = place_of(context_, made->getBeginLoc()),
      .function = function_,
      .op = "addcdiv_",
      .operands = {{"self", dtypes_.text(call), Dtype::kHalf, true, dtypes_.origin(symbol)}}};
  if (op.operands.front().made.line == op.place.line) op.operands.front().made = {};
  if (op.place.line > 0 && ops_.insert({op.place, op.op}).second)
    facts_.ops.push_back(std::move(op));
}

}  // namespace dtypecheck::analyzer
